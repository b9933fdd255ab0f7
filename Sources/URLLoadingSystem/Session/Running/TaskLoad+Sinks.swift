import Foundation
import HTTPSemantics

/// Choosing the consumer of the body.
extension TaskLoad {
  /// nil when the app does not want it.
  func makeSink(for response: URLResponse, in context: LoadContext) async throws -> (any LoadSink)? {
    context.loop.assertInEventLoop()
    switch start.recipient {
    case .data, .dataCall: return DataSink(expecting: response.expectedContentLength, on: context.loop)
    case .bytes(let feed):
      feed.begin(response)
      return BytesSink(feed)
    case .file, .fileCall: return try await makeFileSink(in: context)
    case .delegates: return try await askForSink(response, in: context)
    case .unclaimed, .none: return nil
    }
  }

  private func askForSink(_ response: URLResponse, in context: LoadContext) async throws -> (any LoadSink)? {
    guard let dataTask = task as? URLSessionDataTask else {
      return try await makeFileSink(in: context)
    }
    guard let delivery else { return DelegateSink(task: dataTask, delivery: nil) }
    switch try await askAboutResponse(response, of: dataTask, in: context) {
    case .allow:
      let sink = DelegateSink(task: dataTask, delivery: delivery)
      guard let whole = response as? HTTPURLResponse, let type = whole.head.fields["Content-Type"],
        let boundary = MixedReplaceParser.boundary(in: type)
      else { return sink }
      return MixedReplaceSink(load: self, task: dataTask, whole: whole, boundary: boundary, sink: sink)
    case .becomeDownload: return try await becomeDownload(dataTask, in: context)
    case .cancel: return nil
    case .becomeStream: return becomeStream(dataTask, in: context)
    }
  }

  /// Nothing more is delivered until the app has answered.
  func askAboutResponse(
    _ response: URLResponse, of dataTask: URLSessionDataTask, in context: LoadContext
  ) async throws -> URLSession.ResponseDisposition {
    context.loop.assertInEventLoop()
    let session = self.session
    let disposition = try await delivery?.ask(
      .response, fallback: URLSession.ResponseDisposition.cancel, control: context.control
    ) { facets, answer in
      facets.data?.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: answer)
    }
    return disposition ?? .allow
  }

  private func becomeStream(_ dataTask: URLSessionDataTask, in context: LoadContext) -> any LoadSink {
    let session = self.session
    let stream = session.makeStreamTask(continuing: dataTask, work: context)
    task = stream
    delivery?.post(.becameStream) { $0.data?.urlSession(session, dataTask: dataTask, didBecome: stream) }
    delivery?.post { session.forgetPredecessor(dataTask) }
    return StreamSink(task: stream)
  }

  func becomeDownload(_ dataTask: URLSessionDataTask, in context: LoadContext) async throws -> any LoadSink {
    context.loop.assertInEventLoop()
    let session = self.session
    let download = session.makeDownloadTask(continuing: dataTask, work: context)
    task = download
    delivery?.post(.becameDownload) {
      $0.data?.urlSession(session, dataTask: dataTask, didBecome: download)
    }
    delivery?.post { session.forgetPredecessor(dataTask) }
    return try await makeFileSink(in: context)
  }
}
