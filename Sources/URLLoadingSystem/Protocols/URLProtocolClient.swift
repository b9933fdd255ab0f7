import Foundation

/// Is told by a `URLProtocol` what comes of its request. The loading system implements it.
///
/// All methods may be called from any thread, and count in the order of the calls. None waits. After the load has ended
/// they do nothing, and none of them fails when it is called out of turn:
///
/// - Data, or the end, without a response before it stands for a response of no known type and length.
/// - The first response counts, and of several redirects the first.
/// - What is told behind a redirect counts only where the redirect is refused.
@preconcurrency
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
  /// The request goes on to another URL. The session's delegate is asked about a redirect by HTTP. Unless it refuses, the
  /// protocol is stopped, and `request` is offered to the classes of protocols as any other. One that is refused makes
  /// `redirectResponse` the result, with the body that the protocol gives it.
  func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

  /// A stored response answers the request: the app gets it with its body, and the load has ended.
  func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

  /// The response is known; its body follows.
  ///
  /// `policy` says where the response may be stored, once it is complete. Responses to data tasks are, in the cache of
  /// the session, if the session's delegate does not object.
  func urlProtocol(
    _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

  /// The next bytes of the body: only those that were not told before.
  ///
  /// They are kept until the app takes them: up to 16 MiB in memory, more in a temporary file that the call writes. The call
  /// does not wait for the app. A file that can't be written fails the load with `URLError.cannotWriteToFile`.
  func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

  /// The body is complete, and the load has ended.
  func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

  /// The load has failed. The app gets `error` as it is; an error of the domain `NSURLErrorDomain` becomes a `URLError`, and
  /// gets the failing URL if it names none.
  func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

  /// The app is asked for a credential. The answer comes to the challenge's sender, on the thread of the protocol. The
  /// default credential of the session's storage is proposed where the challenge proposes none, and answers it where the
  /// app does not. Where the app cancels the challenge, the load fails unless the protocol has ended it by then.
  func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

  /// The answer to `challenge` is not needed any more. The sender hears nothing.
  func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
