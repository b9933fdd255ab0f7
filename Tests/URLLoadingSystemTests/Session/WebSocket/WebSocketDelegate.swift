import Foundation
import LoopbackServer
import URLLoadingSystem

/// Writes down what the delegate of WebSocket tasks is told.
final class WebSocketDelegate: NSObject, URLSessionWebSocketDelegate, @unchecked Sendable {
  // Sendable by hand: the closure is set before the first task is made.

  let events = Recorder<String>()
  let errors = Recorder<URLError>()
  let done = Gate()
  var onRedirect: @Sendable (URLRequest) -> URLRequest? = { $0 }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) { events.record("open \(`protocol` ?? "-")") }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) { events.record("close \(closeCode.rawValue) \(reason.map { String(decoding: $0, as: UTF8.self) } ?? "-")") }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    events.record("redirect to \(request.url?.scheme ?? "-")")
    completionHandler(onRedirect(request))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error = error as? URLError { errors.record(error) }
    events.record(error.map { "failed \(($0 as? URLError)?.code.rawValue ?? 0)" } ?? "completed")
    done.open()
  }
}

/// A session with a recording delegate, and a WebSocket of it that has been started.
func openSocket(
  _ url: URL, protocols: [String] = []
) -> (URLSession, WebSocketDelegate, URLSessionWebSocketTask) {
  let delegate = WebSocketDelegate()
  let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
  let task = session.webSocketTask(with: url, protocols: protocols)
  task.resume()
  return (session, delegate, task)
}

extension URLSessionWebSocketTask.Message {
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var bytes: Data? { if case .data(let data) = self { data } else { nil } }
}
