import Foundation

/// Messages of data and upload tasks that have neither a completion handler nor an `async` call behind them.
/// Every method may be left out.
@preconcurrency
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  /// The response's head arrived. Nothing more of this task is delivered until the answer is given.
  /// Left out: `.allow`.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)

  /// The `async` form of `urlSession(_:dataTask:didReceive:completionHandler:)`.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
  ) async -> URLSession.ResponseDisposition

  /// The answer to the response was `.becomeDownload`: `downloadTask` goes on in place of `dataTask`, which sends no
  /// further messages.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)

  /// The answer to the response was `.becomeStream`: `streamTask` goes on in place of `dataTask`, which sends no further
  /// messages. It has the data task's request and response. Where a body ends with its connection, the stream is the
  /// connection itself, both ways, and no HTTP connection any more. Otherwise it is the body, decoded as for a data
  /// task, and closed for writing.
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask)

  /// Bytes of the body, in order, only those that are new. Not returning holds the transfer back.
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

  /// The response is about to be stored in the session's cache. Answer what to store, or nil to store nothing.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void)

  /// The `async` form of `urlSession(_:dataTask:willCacheResponse:completionHandler:)`.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
  ) async -> CachedURLResponse?
}

extension URLSessionDataDelegate {
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    DelegateCapabilities.noteMissing(.response, of: self)
    Task { completionHandler(await urlSession(session, dataTask: dataTask, didReceive: response)) }
  }

  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
  ) async -> URLSession.ResponseDisposition {
    DelegateCapabilities.noteMissing(.responseAsync, of: self)
    return .allow
  }

  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
  ) {
    DelegateCapabilities.noteMissing(.becameDownload, of: self)
  }

  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
  ) {
    DelegateCapabilities.noteMissing(.becameStream, of: self)
  }

  public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    DelegateCapabilities.noteMissing(.data, of: self)
  }

  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.willCache, of: self)
    Task {
      completionHandler(await urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse))
    }
  }

  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
  ) async -> CachedURLResponse? {
    DelegateCapabilities.noteMissing(.willCacheAsync, of: self)
    return proposedResponse
  }
}
