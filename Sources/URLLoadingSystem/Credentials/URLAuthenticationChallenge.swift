import Foundation

/// A question of a server or proxy: who is asking? Or of a load: is this server to be trusted? Immutable.
open class URLAuthenticationChallenge: NSObject, NSSecureCoding, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed, and nothing to assert: constants, all of Sendable types.
  private let space: URLProtectionSpace
  private let proposed: URLCredential?
  private let failures: Int
  private let response: URLResponse?
  private let underlyingError: (any Error)?
  private let receiver: (any URLAuthenticationChallengeSender)?

  /// A challenge that the app or a protocol of its own puts.
  ///
  /// - Parameters:
  ///   - space: The part of the server, or the proxy, that asks.
  ///   - credential: The credential to try unless another is given.
  ///   - previousFailureCount: How many answers were refused before.
  ///   - response: The response that asked; nil when none did.
  ///   - error: The failure that led here; nil when there was none.
  ///   - sender: Who gets the answer.
  public init(
    protectionSpace space: URLProtectionSpace, proposedCredential credential: URLCredential?,
    previousFailureCount: Int, failureResponse response: URLResponse?, error: (any Error)?,
    sender: any URLAuthenticationChallengeSender
  ) {
    self.space = space
    proposed = credential
    failures = previousFailureCount
    self.response = response
    underlyingError = error
    receiver = sender
  }

  /// The same challenge with another receiver of the answer.
  public init(
    authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
  ) {
    space = challenge.protectionSpace
    proposed = challenge.proposedCredential
    failures = challenge.previousFailureCount
    response = challenge.failureResponse
    underlyingError = challenge.error
    receiver = sender
  }

  /// A challenge of a session, which is answered with a disposition instead of through a sender.
  package init(
    protectionSpace: URLProtectionSpace, proposedCredential: URLCredential? = nil, previousFailureCount: Int = 0,
    failureResponse: URLResponse? = nil, error: (any Error)? = nil
  ) {
    space = protectionSpace
    proposed = proposedCredential
    failures = previousFailureCount
    response = failureResponse
    underlyingError = error
    receiver = nil
  }

  /// The server or proxy that asks, and its method.
  open var protectionSpace: URLProtectionSpace { space }

  /// The credential to try, from the store or the URL; nil when there is none. One without a password only proposes a
  /// user name. After a failure of this space, the credential that failed.
  open var proposedCredential: URLCredential? { proposed }

  /// How many answers were refused before.
  open var previousFailureCount: Int { failures }

  /// The response that asked; nil when none did.
  open var failureResponse: URLResponse? { response }

  /// The failure that led here; nil when there was none.
  open var error: (any Error)? { underlyingError }

  /// The object that takes the answer. That of a session's challenge gives the answers that the completion handler of the
  /// delegate's method takes; the first answer counts. nil for a challenge that was read from an archive.
  open var sender: (any URLAuthenticationChallengeSender)? { receiver }

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  /// Reads an archived challenge, without a sender; nil where the archive has no protection space, or is not keyed.
  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding,
      let space = coder.decodeObject(of: URLProtectionSpace.self, forKey: "protectionSpace")
    else { return nil }
    self.space = space
    proposed = coder.decodeObject(of: URLCredential.self, forKey: "proposedCredential")
    failures = coder.decodeInteger(forKey: "previousFailureCount")
    response =
      coder.decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: "failureResponse") as? URLResponse
    underlyingError = (coder.decodeObject(of: NSString.self, forKey: "errorDomain") as String?).map {
      NSError(domain: $0, code: coder.decodeInteger(forKey: "errorCode"))
    }
    receiver = nil
  }

  /// Archives everything but the sender and what an error says besides its domain and code.
  open func encode(with coder: NSCoder) {
    coder.encode(space, forKey: "protectionSpace")
    coder.encode(proposed, forKey: "proposedCredential")
    coder.encode(failures, forKey: "previousFailureCount")
    coder.encode(response, forKey: "failureResponse")
    let error = underlyingError.map { $0 as NSError }
    coder.encode(error?.domain as NSString?, forKey: "errorDomain")
    coder.encode(error?.code ?? 0, forKey: "errorCode")
  }
}

/// Takes the answer to a challenge that was not put to a session's delegate.
///
/// Each challenge is answered once; later answers are ignored.
@preconcurrency
public protocol URLAuthenticationChallengeSender: NSObjectProtocol, Sendable {
  /// Try this credential.
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)
  /// Go on without a credential.
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge)
  /// Give up the load.
  func cancel(_ challenge: URLAuthenticationChallenge)
  /// Handle the challenge as if it had not been put. Optional.
  func performDefaultHandling(for challenge: URLAuthenticationChallenge)
  /// Skip this protection space and try the next. Optional.
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

extension URLAuthenticationChallengeSender {
  public func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
    continueWithoutCredential(for: challenge)
  }

  public func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
    continueWithoutCredential(for: challenge)
  }
}
