import Foundation

/// Messages of stream tasks. Every method may be left out; they are called on the session's `delegateQueue`.
@preconcurrency
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
  /// The server closed its side, or `closeRead()` was done. What has arrived before can still be read in the first case;
  /// in the second, reads fail. Told also without a read, once the end has come.
  func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

  /// `closeWrite()` was done: writes fail from now on.
  func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

  /// A better way to the server exists now; a new task would use it. Never called here: the kernel moves connections, or
  /// does not.
  func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

  /// The task's last message, after `captureStreams()`: both streams are unopened and the app's own from now on. Their
  /// connection is closed when both are.
  func urlSession(
    _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
    outputStream: OutputStream)
}

extension URLSessionStreamDelegate {
  public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
    DelegateCapabilities.noteMissing(.readClosed, of: self)
  }

  public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
    DelegateCapabilities.noteMissing(.writeClosed, of: self)
  }

  public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {}

  public func urlSession(
    _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
    outputStream: OutputStream
  ) {
    DelegateCapabilities.noteMissing(.becameStreams, of: self)
  }
}
