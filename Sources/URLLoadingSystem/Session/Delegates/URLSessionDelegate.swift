import Foundation

/// Messages about a session as a whole. Every method may be left out, and every method that answers through a
/// completion handler may be written as an `async` function instead.
///
/// All methods are called on the session's `delegateQueue`; an `async` form is started from there.
@preconcurrency
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
  /// The session's last message: it was invalidated and all its tasks have ended. The session releases its delegate
  /// when this returns. `error` is nil when the app invalidated the session itself.
  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

  /// A connection of the session asks for trust in the server, for a client certificate, or for an NTLM or Negotiate
  /// credential. Left out: the task's delegate is asked, and after it the default handling applies.
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

  /// The `async` form of `urlSession(_:didReceive:completionHandler:)`.
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

  /// All events that were waiting for this background session have been delivered.
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

extension URLSessionDelegate {
  public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    DelegateCapabilities.noteMissing(.didBecomeInvalid, of: self)
  }

  public func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.sessionChallenge, of: self)
    Task {
      let (disposition, credential) = await urlSession(session, didReceive: challenge)
      completionHandler(disposition, credential)
    }
  }

  public func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    DelegateCapabilities.noteMissing(.sessionChallengeAsync, of: self)
    return (.performDefaultHandling, nil)
  }

  public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    DelegateCapabilities.noteMissing(.didFinishEvents, of: self)
  }
}
