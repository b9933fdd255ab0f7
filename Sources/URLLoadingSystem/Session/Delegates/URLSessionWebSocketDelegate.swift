import Foundation

/// Messages of WebSocket tasks. Both methods may be left out; they are called on the session's `delegateQueue`.
@preconcurrency
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
  /// The handshake succeeded. Not called when it fails: `urlSession(_:task:didCompleteWithError:)` says so alone.
  /// - Parameter protocol: The subprotocol the server chose of those offered; nil when it chose none.
  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)

  /// A close frame came from the server: first, or in answer to the task's own.
  /// - Parameters:
  ///   - closeCode: `.noStatusReceived` when the frame was empty.
  ///   - reason: nil when there was none.
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
