import Foundation

/// Messages of WebSocket tasks. Both methods may be left out; they are called on the session's `delegateQueue`.
@preconcurrency
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
  /// The handshake succeeded. Not called when it fails: `urlSession(_:task:didCompleteWithError:)` says so alone.
  /// `protocol` is the subprotocol that the server chose of those offered; nil when it chose none.
  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)

  /// A close frame came from the server: first, or in answer to the task's own. `closeCode` is `.noStatusReceived` when
  /// the frame was empty, and `reason` is nil when there was none.
  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
}

extension URLSessionWebSocketDelegate {
  public func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) {
    DelegateCapabilities.noteMissing(.didOpenWebSocket, of: self)
  }

  public func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) {
    DelegateCapabilities.noteMissing(.didCloseWebSocket, of: self)
  }
}
