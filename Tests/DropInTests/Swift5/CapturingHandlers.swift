import Foundation
import FoundationNetworking
import LoopbackServer
import Testing

// Code as it was written before Swift checked for data races: handlers that write to variables around them, handlers
// that are passed on without a word about threads, delegates with state. It compiles without a warning, as it does on
// Apple's systems; for this target such warnings are errors. Swift 6 code is warned.

/// A client that passes on the handler it was given.
final class PassingClient {
  typealias Handler = (Data?, URLResponse?, Error?) -> Void

  private let session: URLSession
  private var finished = 0

  init(session: URLSession) { self.session = session }

  func load(_ url: URL, handler: @escaping Handler) -> URLSessionTask {
    let task = session.dataTask(with: url, completionHandler: handler)
    task.resume()
    return task
  }

  func save(_ request: URLRequest, to file: URL, handler: @escaping (Error?) -> Void) {
    session.downloadTask(with: request) { location, _, error in
      self.finished += 1
      if let location { try? FileManager.default.moveItem(at: location, to: file) }
      handler(error)
    }.resume()
  }
}

/// A delegate that is a plain class with variables.
class CountingDelegate: NSObject, URLSessionDataDelegate {
  var bytes = 0
  var ended: (() -> Void)?

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) { completionHandler(.allow) }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { bytes += data.count }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) { ended?() }
}

/// A stand-in for a session, as tests have them.
class ImmediateSession: URLSession, @unchecked Sendable {
  override func dataTask(
    with url: URL, completionHandler: @escaping (Data?, URLResponse?, Error?) -> Void
  ) -> URLSessionDataTask {
    completionHandler(Data("made up".utf8), nil, nil)
    return super.dataTask(with: url, completionHandler: completionHandler)
  }
}

@Suite struct CapturingHandlerTests {
  /// Waits as such code does.
  private func load(_ url: URL, with session: URLSession) -> Data? {
    var result: Data?
    let done = DispatchSemaphore(value: 0)
    session.dataTask(with: url) { data, _, _ in
      result = data
      done.signal()
    }.resume()
    done.wait()
    return result
  }

  @Test func handlersMayWriteToVariables() async throws {
    let server = try await LoopbackServer.start(handler: { _ in .ok("hello") })
    let session = URLSession(configuration: .ephemeral)
    let url = server.url()
    let data = await withCheckedContinuation { answer in
      Thread.detachNewThread { answer.resume(returning: self.load(url, with: session)) }
    }
    #expect(data == Data("hello".utf8))

    let client = PassingClient(session: session)
    let text = await withCheckedContinuation { answer in
      _ = client.load(url) { data, _, _ in answer.resume(returning: String(decoding: data ?? Data(), as: UTF8.self)) }
    }
    #expect(text == "hello")

    let delegate = CountingDelegate()
    let watched = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    await withCheckedContinuation { answer in
      delegate.ended = { answer.resume() }
      watched.dataTask(with: url).resume()
    }
    #expect(delegate.bytes == 5)
    session.finishTasksAndInvalidate()
    watched.finishTasksAndInvalidate()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
