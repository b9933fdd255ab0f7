import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A session's delegate that hands every challenge of a connection to a closure, which may answer when it likes.
final class ChallengeDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
  typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

  let asked = Recorder<URLAuthenticationChallenge>()
  private let onChallenge: @Sendable (URLAuthenticationChallenge, @escaping Answer) -> Void

  init(_ onChallenge: @escaping @Sendable (URLAuthenticationChallenge, @escaping Answer) -> Void) {
    self.onChallenge = onChallenge
  }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge, completionHandler: @escaping Answer
  ) {
    asked.record(challenge)
    onChallenge(challenge, completionHandler)
  }

  /// Takes the server as it is.
  static func accepting() -> ChallengeDelegate {
    ChallengeDelegate { challenge, answer in
      guard let trust = challenge.protectionSpace.serverTrust else { return answer(.performDefaultHandling, nil) }
      answer(.useCredential, URLCredential(trust: trust))
    }
  }

  static func answering(_ disposition: URLSession.AuthChallengeDisposition) -> ChallengeDelegate {
    ChallengeDelegate { $1(disposition, nil) }
  }

  /// Shows `credential` to servers that ask who is there.
  static func presenting(_ credential: URLCredential?) -> ChallengeDelegate {
    ChallengeDelegate { challenge, answer in
      guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
        return answer(.performDefaultHandling, nil)
      }
      answer(.useCredential, credential)
    }
  }
}

/// A session that trusts the test authority, or nobody it could meet.
func secureSession(
  _ delegate: (any URLSessionDelegate)? = nil, trusting file: String? = nil,
  _ change: (URLSessionConfiguration) -> Void = { _ in }
) -> URLSession {
  let configuration = URLSessionConfiguration.ephemeral
  if let file { configuration.trustRoots = .file(file) }
  change(configuration)
  return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
}
