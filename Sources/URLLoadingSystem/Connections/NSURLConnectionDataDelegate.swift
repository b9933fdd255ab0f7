import Foundation

/// Messages of connections that load data. Every method may be left out. All are called on the connection's run loop or
/// queue, in order.
@available(*, deprecated, message: "Use URLSessionDataDelegate.")
@preconcurrency
public protocol NSURLConnectionDataDelegate: NSURLConnectionDelegate {
  /// A request is about to be sent: the first one, with nil as `response`, or the one that a redirect leads to. Answer
  /// the request to send. nil for a redirect makes the redirect's own response the result; nil for the first request
  /// ends the connection with `URLError.cancelled`. Left out: `request`.
  func connection(
    _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
  ) -> URLRequest?

  /// The response's head arrived. Comes again for each part of a `multipart/x-mixed-replace` response.
  func connection(_ connection: NSURLConnection, didReceive response: URLResponse)

  /// Bytes of the body, in order, only those that are new. Not returning holds the transfer back.
  func connection(_ connection: NSURLConnection, didReceive data: Data)

  /// A fresh, unopened stream of the request's body is needed, because the body must be sent again. nil fails the
  /// connection with `URLError.requestBodyStreamExhausted`. Left out: what was read of the first stream is repeated from
  /// a temporary file.
  func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream?

  /// Body bytes were sent. Several sends may be told in one call, and the total begins again when the body is sent again.
  /// `totalBytesExpectedToWrite` is -1 when the body's length is not known.
  func connection(
    _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
    totalBytesExpectedToWrite: Int)

  /// The response is about to be stored in the shared cache. Answer what to store, or nil to store nothing.
  func connection(_ connection: NSURLConnection, willCacheResponse cachedResponse: CachedURLResponse)
    -> CachedURLResponse?

  /// The last message of a connection that has received the whole response, whatever its status.
  func connectionDidFinishLoading(_ connection: NSURLConnection)
}

@available(*, deprecated)
extension NSURLConnectionDataDelegate {
  public func connection(
    _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
  ) -> URLRequest? { request }

  public func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {}

  public func connection(_ connection: NSURLConnection, didReceive data: Data) {}

  public func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream? {
    connection.repeatedBody()
  }

  public func connection(
    _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
    totalBytesExpectedToWrite: Int
  ) {}

  public func connection(_ connection: NSURLConnection, willCacheResponse cachedResponse: CachedURLResponse)
    -> CachedURLResponse?
  { cachedResponse }

  public func connectionDidFinishLoading(_ connection: NSURLConnection) {}
}
