import Foundation
import HTTPSemantics

/// How a load starts: without a Swift task, which it gets when something must be awaited that only a task can await. A
/// small answer to a plain request needs none.
extension TaskLoad {
  /// The work that was done before the Swift task.
  private enum Progress {
    case nothing
    case begun(PipelineRun)
    case receiving(LoadedResponse, any LoadSink)
  }

  func begin(in context: LoadContext) {
    context.loop.assertInEventLoop()
    delivery?.loop = context.executor
    context.isDownload = task is URLSessionDownloadTask
    guard let request = plainRequest(in: context) else { return goOn(from: .nothing, in: context) }
    let run = PipelineRun(LoadRequest(request, body: task.requestBody), in: context, isForOrigin: true)
    run.start { self.hasCome($0) }
  }

  private func hasCome(_ run: PipelineRun) {
    switch run.outcome {
    case .success(let loaded): receiveAtOnce(loaded, of: run, in: run.context)
    case .failure(let error): end(.failure(error), in: run.context)
    case nil: goOn(from: .begun(run), in: run.context)
    }
  }

  /// The request of a load that is no more than one; nil where something must be awaited first.
  private func plainRequest(in context: LoadContext) -> URLRequest? {
    guard isPlain, !context.control.isHeld, let request = start.request, start.resumption == nil,
      start.earliestBeginDate == nil
    else { return nil }
    startTimers(for: request, in: context)
    return request.completed(by: context.configuration.additionalHeaders)
  }

  /// Takes what is here of the body.
  private func receiveAtOnce(_ loaded: LoadedResponse, of run: PipelineRun, in context: LoadContext) {
    guard let sink = immediateSink(for: loaded.response, in: context) else {
      return goOn(from: .begun(run), in: context)
    }
    note(loaded.response)
    take(loaded, into: sink, in: context)
  }

  /// Pieces of a body that are taken in a row on the thread of a caller, which has other things to do.
  private static let mostInlinePieces = 32

  /// Gives the sink what is here of the body.
  private func take(_ loaded: LoadedResponse, into sink: any LoadSink, in context: LoadContext) {
    do {
      var pieces = 0
      while !context.control.isHeld, !context.isInline || pieces < TaskLoad.mostInlinePieces {
        pieces += 1
        switch try loaded.body.takePart() {
        case .bytes(let chunk):
          guard try sink.accept(chunk) else {
            loaded.body.putBack(chunk)
            return goOn(from: .receiving(loaded, sink), in: context)
          }
          countReceived(chunk.readableBytes)
        case .end:
          return end(.success((sink as? DataSink)?.finish() ?? .nothing), in: context)
        case .pending where context.isInline:
          // The thread that brings the rest goes on.
          return loaded.body.whenMore { self.take(loaded, into: sink, in: context) }
        case .pending, .busy: return goOn(from: .receiving(loaded, sink), in: context)
        }
      }
      goOn(from: .receiving(loaded, sink), in: context)
    } catch {
      loaded.body.discard()
      end(.failure(error), in: context)
    }
  }

  /// The sink of a task whose answer goes to memory or to a delegate that leaves it to us what becomes of the response;
  /// nil where the app or the disk must be asked.
  private func immediateSink(for response: URLResponse, in context: LoadContext) -> (any LoadSink)? {
    switch start.recipient {
    case .data, .dataCall: return DataSink(expecting: response.expectedContentLength, on: context.loop)
    case .delegates:
      guard let dataTask = task as? URLSessionDataTask, delivery?.mayBeAsked(.response) != true,
        (response as? HTTPURLResponse)?.head.fields["Content-Type"].map({ MixedReplaceParser.boundary(in: $0) }) ?? nil
          == nil
      else { return nil }
      return DelegateSink(task: dataTask, delivery: delivery)
    case .bytes, .file, .fileCall, .unclaimed, .none: return nil
    }
  }

  /// Goes on as a Swift task.
  private func goOn(from progress: Progress, in context: LoadContext) {
    context.moveToHost {
      self.delivery?.loop = context.executor
      nonisolated(unsafe) let progress = progress
      context.start { await self.run(progress, in: $0) }
    }
  }

  private func run(_ progress: Progress, in context: LoadContext) async {
    do {
      let received: Received
      switch progress {
      case .nothing: received = try await perform(in: context)
      case .begun(let run): received = try await receive(try await run.response(), in: context)
      case .receiving(let loaded, let sink): received = try await goOnReceiving(loaded, into: sink, in: context)
      }
      if upload != nil { await removeKeptBody(in: context) }
      end(.success(received), in: context)
    } catch {
      end(.failure(await withResumeData(error, in: context)), in: context)
    }
  }

  private func goOnReceiving(
    _ loaded: LoadedResponse, into sink: any LoadSink, in context: LoadContext
  ) async throws -> Received {
    do { return try await receive(loaded, into: sink, in: context) } catch {
      loaded.body.discard()
      throw error
    }
  }

  private func end(_ result: Result<Received, any Error>, in context: LoadContext) {
    (download, upload) = (nil, nil)
    context.control.finish()
    context.forgetExchanges()
    ending = Ending(result: result, context: context)
    context.executor.afterJobs { self.tellEnd() }
  }

  private func tellEnd() {
    guard let ending = ending.take() else { return }
    let context = ending.context
    task.finish(ending.result, delivery: delivery, transactions: context.transactions, from: context.executor)
  }
}
