import Foundation
import Synchronization
import URLLoadingSystem

/// How a load's challenges are answered, from what the command line names. Usable from any thread.
final class CredentialAnswers: Sendable {
  typealias Answer = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

  private let user: String?
  private let netrc: NetRC?
  private let identity: URLCredential?
  private let pins: Set<Data>
  private let usesNegotiateOnly: Bool
  /// nil until it is asked for.
  private let password: Mutex<String?>
  private let prompt: @Sendable (String) -> String?

  init(
    user: String? = nil, password: String? = nil, netrc: NetRC? = nil, identity: URLCredential? = nil,
    pins: Set<Data> = [], usesNegotiateOnly: Bool = false,
    prompt: @escaping @Sendable (String) -> String? = PasswordPrompt.ask
  ) {
    self.user = user
    self.netrc = netrc
    self.identity = identity
    self.pins = pins
    self.usesNegotiateOnly = usesNegotiateOnly
    self.password = Mutex(password)
    self.prompt = prompt
  }

  func answer(to challenge: URLAuthenticationChallenge) -> Answer {
    let space = challenge.protectionSpace
    switch space.authenticationMethod {
    case NSURLAuthenticationMethodServerTrust: return judge(space)
    case NSURLAuthenticationMethodClientCertificate:
      return identity.map { (.useCredential, $0) } ?? (.performDefaultHandling, nil)
    default:
      if usesNegotiateOnly, space.authenticationMethod != NSURLAuthenticationMethodNegotiate {
        return (.rejectProtectionSpace, nil)
      }
      return answerByPassword(challenge)
    }
  }

  /// A server that does not have one of the keys is refused before anything is sent to it.
  private func judge(_ space: URLProtectionSpace) -> Answer {
    guard !pins.isEmpty else { return (.performDefaultHandling, nil) }
    guard let trust = space.serverTrust, let leaf = trust.certificates.first,
      let hash = leaf.publicKeySHA256, pins.contains(hash)
    else { return (.rejectProtectionSpace, nil) }
    return (.performDefaultHandling, nil)
  }

  private func answerByPassword(_ challenge: URLAuthenticationChallenge) -> Answer {
    let space = challenge.protectionSpace
    // The same again would be refused again.
    guard challenge.previousFailureCount == 0 else { return (.performDefaultHandling, nil) }
    if let user {
      guard let password = password(of: user, for: space) else { return (.performDefaultHandling, nil) }
      return (.useCredential, URLCredential(user: user, password: password, persistence: .forSession))
    }
    let proposed = challenge.proposedCredential
    if proposed?.hasPassword == true { return (.performDefaultHandling, nil) }
    guard let entry = netrc?.entry(for: space.host, login: proposed?.user), let login = entry.login else {
      return (.performDefaultHandling, nil)
    }
    return (.useCredential, URLCredential(user: login, password: entry.password ?? "", persistence: .forSession))
  }

  private func password(of user: String, for space: URLProtectionSpace) -> String? {
    password.withLock { password in
      if password == nil {
        let place = space.isProxy() ? "the proxy \(space.host)" : space.host
        password = prompt("Password of \(user) for \(place): ")
      }
      return password
    }
  }
}
