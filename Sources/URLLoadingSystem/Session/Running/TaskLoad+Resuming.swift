import Foundation
import HTTPSemantics
import NIOPosix

extension TaskLoad {
  /// Goes on with an interrupted download: asks for the rest, provided that the resource is the same (RFC 9110 §14.2,
  /// §13.1.5), and looks closely at what comes back.
  func resume(_ data: DownloadResumeData, _ request: URLRequest, in context: LoadContext) async throws -> Received {
    let file = try await onDisk(context) { try DownloadFile.reopen(data) }
    let partial = PartialDownload(
      file: file, count: data.bytesReceived,
      origin: DownloadOrigin(validator: data.validator, total: data.expectedTotal))
    self.partial = partial
    var asking = request
    for field in ResumePlan.requestFields(offset: partial.count, validator: data.validator).fields {
      asking.headerFields[field.name] = field.value
    }
    let loaded = try await LoadPipeline.load(LoadRequest(asking), in: context)
    let head = loaded.head ?? HTTPResponseHead(status: 200)
    let outcome = ResumePlan.outcome(
      status: head.status, fields: head.fields, offset: partial.count, validator: data.validator,
      total: data.expectedTotal)
    switch outcome {
    case .resume(_, let end, let total):
      self.partial?.origin.total = total
      self.partial?.end = end
      self.partial?.request = request
      return try await receive(loaded, in: context, goingOnWith: self.partial)
    case .alreadyComplete:
      loaded.body.discard()
      return complete(loaded, head, count: partial.count, file: file)
    case .restart:
      await dropPartial(in: context)
      return try await receive(loaded, in: context, isRestart: true)
    case .unrelated: return try await receiveInstead(loaded, of: partial, in: context)
    case .mismatch:
      loaded.body.discard()
      await dropPartial(in: context)
      let whole = try await LoadPipeline.load(LoadRequest(request), in: context)
      return try await receive(whole, in: context, isRestart: true)
    }
  }

  /// A failure is a response like any other, and becomes the file. It says nothing about the part, which stays for the
  /// resume data that the app holds: a server that is overloaded today may have the rest tomorrow.
  private func receiveInstead(
    _ loaded: LoadedResponse, of kept: PartialDownload, in context: LoadContext
  ) async throws -> Received {
    partial = nil
    do {
      let received = try await receive(loaded, in: context)
      kept.file.unlock()
      return received
    } catch {
      partial = kept
      throw error
    }
  }

  /// The answer with the next part of a download; nil when all of it is here.
  ///
  /// A part may be shorter than the rest (RFC 9110 §15.3.7 leaves that to the server), and while the server does not say
  /// how long the whole is, only a request behind the last byte can tell that it was the last.
  func nextPart(of partial: inout PartialDownload, in context: LoadContext) async throws -> LoadedResponse? {
    let received = task.bytesReceived.load(ordering: .relaxed)
    guard received >= partial.end else {
      throw ErrorMapping.make(.networkConnectionLost, because: "The body ended before the announced length.")
    }
    guard received == partial.end else {
      throw ErrorMapping.make(.badServerResponse, because: "The server sent more than it had announced.")
    }
    guard partial.origin.total != received, var asking = partial.request else { return nil }
    for field in ResumePlan.requestFields(offset: received, validator: partial.origin.validator).fields {
      asking.headerFields[field.name] = field.value
    }
    let loaded = try await LoadPipeline.load(LoadRequest(asking), in: context)
    let head = loaded.head ?? HTTPResponseHead(status: 200)
    switch ResumePlan.outcome(
      status: head.status, fields: head.fields, offset: received, validator: partial.origin.validator,
      total: partial.origin.total)
    {
    case .resume(_, let end, let total):
      partial.end = end
      partial.origin.total = total
      task.bytesExpectedToReceive.store(total ?? -1, ordering: .relaxed)
      return loaded
    case .alreadyComplete:
      loaded.body.discard()
      task.bytesExpectedToReceive.store(received, ordering: .relaxed)
      return nil
    case .restart, .unrelated, .mismatch:
      // What the delegate was told of can't be taken back; a task made from the resume data begins at zero.
      loaded.body.discard()
      throw ErrorMapping.make(.networkConnectionLost, because: "The server did not send the parts that are left.")
    }
  }

  /// RFC 9110 §15.5.17: there is nothing behind the bytes that are here. The task's response is made of what the 416
  /// says about the resource.
  private func complete(
    _ loaded: LoadedResponse, _ head: HTTPResponseHead, count: Int64, file: DownloadFile
  ) -> Received {
    var whole = HTTPResponseHead(version: head.version, status: 200, fields: head.fields)
    for name in ["Content-Range", "Content-Type", "Transfer-Encoding"] { whole.fields.remove(name) }
    whole.fields["Content-Length"] = String(count)
    let response = HTTPURLResponse(url: loaded.response.url, head: whole)
    task.change(\.response) { $0.response = response }
    task.bytesReceived.store(count, ordering: .relaxed)
    task.bytesExpectedToReceive.store(count, ordering: .relaxed)
    task.countersChanged()
    tellResumption(at: count, expected: count)
    partial = nil
    return .file(file.url)
  }

  /// Says from where the bytes come. Only downloads made from resume data, and reporting to delegates, say it.
  func tellResumption(at offset: Int64, expected: Int64) {
    guard let download = task as? URLSessionDownloadTask, task.lockedState.withLock({ $0.outcome.isDelegates }) else {
      return
    }
    let session = self.session
    delivery?.post(.didResume) {
      $0.download?.urlSession(session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected)
    }
  }

  /// Where the rest of a download goes.
  func makeSink(goingOnWith partial: PartialDownload, in context: LoadContext) -> FileSink {
    let isTold = task.lockedState.withLock { $0.outcome.isDelegates }
    return FileSink(partial.file, at: partial.count, for: task, telling: isTold ? delivery : nil, on: context.loop)
  }

  /// The body broke off: keeps what a later task can go on with, removes what none can.
  func putAside(_ sink: any LoadSink, _ origin: DownloadOrigin?, in context: LoadContext) async {
    partial = nil
    guard let file = sink as? FileSink, let origin, task.lockedState.withLock({ $0.wantsResumeData }),
      let kept = await file.keep(in: context), kept.count > 0, origin.total.map({ kept.count <= $0 }) ?? true
    else { return await sink.abandon() }
    partial = PartialDownload(file: kept.file, count: kept.count, origin: origin)
  }

  /// `error` with what a later task can go on with. Without that, nothing of the download stays.
  func withResumeData(_ error: any Error, in context: LoadContext) async -> any Error {
    if upload != nil { return await withUploadResumeData(error, in: context) }
    guard let partial else { return error }
    guard task.lockedState.withLock({ $0.wantsResumeData }), let data = partial.resumeData(of: task) else {
      await dropPartial(in: context)
      return error
    }
    // From now on the next task may write it.
    partial.file.unlock()
    self.partial = nil
    return ErrorMapping.urlError(error, url: task.presentRequest?.url)
      .adding(data, forKey: NSURLSessionDownloadTaskResumeData)
  }

  private func withUploadResumeData(_ error: any Error, in context: LoadContext) async -> any Error {
    guard task.lockedState.withLock({ $0.wantsResumeData }), let data = await uploadResumeData(in: context) else {
      await dropUpload(in: context)
      return error
    }
    return ErrorMapping.urlError(error, url: task.presentRequest?.url)
      .adding(data, forKey: NSURLSessionUploadTaskResumeData)
  }

  private func dropPartial(in context: LoadContext) async {
    guard let url = partial?.file.url else { return }
    partial = nil
    try? await onDisk(context) { TemporaryFile.remove(url) }
  }

  private func onDisk<Value: Sendable>(
    _ context: LoadContext, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(eventLoop: context.loop, work).get()
  }
}
