import Foundation

/// Messages of every connection. Every method may be left out. All are called on the connection's run loop or queue,
/// `connectionShouldUseCredentialStorage(_:)` on the thread that starts the connection.
@available(*, deprecated, message: "Use URLSessionTaskDelegate.")
@preconcurrency
public protocol NSURLConnectionDelegate: NSObjectProtocol {
  /// The last message of a connection that failed, with a `URLError`.
  func connection(_ connection: NSURLConnection, didFailWithError error: any Error)

  /// Whether credentials are taken from the shared storage and kept there. Asked once, before anything is loaded; the
  /// delegate may be asked for a credential either way. Left out: true.
  func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool

  /// A server or a proxy asks for a credential, or a server's certificates are to be judged. Answer through
  /// `challenge.sender`, now or later. Left out: the three methods below are called.
  func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge)

  /// Whether the delegate answers challenges of this space. Otherwise the default handling applies. Left out: false for
  /// server trust and client certificates, true for all others.
  @available(*, deprecated, message: "Use urlSession(_:task:didReceive:completionHandler:) of URLSessionTaskDelegate.")
  func connection(
    _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
  ) -> Bool

  /// A credential is wanted: neither the URL nor the storage has one, or the one that was tried was refused
  /// (`previousFailureCount` of the challenge is above 0). Answer through `challenge.sender`, now or later. Left out: the
  /// default handling applies.
  @available(*, deprecated, message: "Use urlSession(_:task:didReceive:completionHandler:) of URLSessionTaskDelegate.")
  func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge)

  /// The challenge was cancelled through its sender. The connection fails with
  /// `URLError.userCancelledAuthentication`.
  @available(*, deprecated, message: "Use urlSession(_:task:didReceive:completionHandler:) of URLSessionTaskDelegate.")
  func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge)
}

@available(*, deprecated)
extension NSURLConnectionDelegate {
  public func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {}

  public func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { true }

  public func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
    let space = challenge.protectionSpace
    guard self.connection(connection, canAuthenticateAgainstProtectionSpace: space), challenge.needsCredential else {
      challenge.sender?.performDefaultHandling(for: challenge)
      return
    }
    self.connection(connection, didReceive: challenge)
  }

  public func connection(
    _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
  ) -> Bool { protectionSpace.isOfRequests }

  public func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
    challenge.sender?.performDefaultHandling(for: challenge)
  }

  public func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) {}
}

extension URLAuthenticationChallenge {
  /// False when there is a credential that was not tried yet.
  var needsCredential: Bool { previousFailureCount > 0 || proposedCredential?.hasPassword != true }
}

extension URLProtectionSpace {
  /// False for spaces of the TLS handshake.
  var isOfRequests: Bool {
    authenticationMethod != NSURLAuthenticationMethodServerTrust
      && authenticationMethod != NSURLAuthenticationMethodClientCertificate
  }
}
