import Foundation
import Synchronization
import SystemServices
import URLLoadingSystem

/// How a load's challenges are answered, from what the command line names. Usable from any thread.
///
/// A password is for the server that the URL names, and for proxies that are not told it: on the way to a proxy anyone may ask
/// in its name, by Basic, for what is meant for a server behind TLS. A server that this one leads to gets another one, which
/// is asked for on the terminal, or none.
final class CredentialAnswers: Sendable {
  typealias Answer = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

  private let url: URL
  private let user: String?
  private let netrc: NetRC?
  private let identity: URLCredential?
  private let pins: Set<Data>
  /// Whether a server that does not offer Negotiate gets no credential.
  private let usesNegotiateOnly: Bool
  /// That of the URL's server and of proxies, where it is known from the start.
  private let password: SecretBytes?
  private let typed = Mutex(Typed())
  private let prompt: Prompt

  /// Asks a person for a password; nil where none is typed.
  typealias Prompt = @Sendable (String) throws(PasswordPrompt.NoTerminal) -> SecretBytes?

  /// The answers that a person gave on the terminal.
  private struct Typed {
    /// By server.
    var passwords: [Server: SecretBytes] = [:]
    /// The way to give the password that could not be asked for, since there is no terminal.
    var adviceWithoutTerminal: String?
  }

  private struct Server: Hashable {
    let host: String
    let port: Int
    let isProxy: Bool
  }

  /// - Parameters:
  ///   - url: The URL that is loaded.
  ///   - prompt: Asks on the terminal.
  init(
    for url: URL, user: String? = nil, password: SecretBytes? = nil, netrc: NetRC? = nil,
    identity: URLCredential? = nil,
    pins: Set<Data> = [], usesNegotiateOnly: Bool = false,
    prompt: @escaping Prompt = PasswordPrompt.ask
  ) {
    self.url = url
    self.user = user
    self.netrc = netrc
    self.identity = identity
    self.pins = pins
    self.usesNegotiateOnly = usesNegotiateOnly
    self.password = password
    self.prompt = prompt
  }

  /// The login of the URL's FTP server, with its space: such a server is told a user before it asks. nil for other URLs, for
  /// one that has a password or another user, and where no user is named.
  ///
  /// - Throws: where the user's password could not be asked for: without it the server would be told another user.
  func login() throws(CommandFailure) -> (credential: URLCredential, space: URLProtectionSpace)? {
    guard let scheme = url.scheme?.lowercased(), ["ftp", "ftps"].contains(scheme), let host = url.host?.lowercased(),
      url.password == nil, !usesNegotiateOnly
    else { return nil }
    let space = URLProtectionSpace(
      host: host, port: url.port ?? (scheme == "ftps" ? 990 : 21), protocol: NSURLProtectionSpaceFTP, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodDefault)
    let named = url.user(percentEncoded: false)
    if let user {
      guard named == nil || named == user else { return nil }
      guard let password = password(of: user, for: space) else {
        guard let advice = typed.withLock(\.adviceWithoutTerminal) else { return nil }
        throw CommandFailure(
          .usage, "there is no terminal to ask for the password of \(user) on", advice: advice)
      }
      return (URLCredential(user: user, secret: password, persistence: .forSession), space)
    }
    guard let entry = netrc?.entry(for: host, login: named), let login = entry.login else { return nil }
    return (URLCredential(user: login, secret: entry.password ?? .copy(of: ""), persistence: .forSession), space)
  }

  /// The advice where a server or a proxy has refused for want of a credential; nil where what is usual is right.
  func advice(for status: Int) -> String? {
    guard [401, 407].contains(status) else { return nil }
    if usesNegotiateOnly {
      return "--negotiate allows Kerberos alone: get a ticket with kinit, or leave it out for weaker schemes"
    }
    guard let user, let advice = typed.withLock(\.adviceWithoutTerminal) else { return nil }
    return "there is no terminal to ask for the password of \(user) on: \(advice)"
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
    let proposed = challenge.proposedCredential
    // A proxy's own URL says who asks it; `user` is for a proxy that has none.
    if space.isProxy(), proposed?.hasPassword == true { return (.performDefaultHandling, nil) }
    if let user {
      guard let password = password(of: user, for: space) else { return (.performDefaultHandling, nil) }
      return (.useCredential, URLCredential(user: user, secret: password, persistence: .forSession))
    }
    if proposed?.hasPassword == true { return (.performDefaultHandling, nil) }
    guard let entry = netrc?.entry(for: space.host, login: proposed?.user), let login = entry.login else {
      return (.performDefaultHandling, nil)
    }
    let password = entry.password ?? .copy(of: "")
    return (.useCredential, URLCredential(user: login, secret: password, persistence: .forSession))
  }

  private func password(of user: String, for space: URLProtectionSpace) -> SecretBytes? {
    if let password, space.isProxy() ? space.receivesCredentialSecurely : isOfURL(space) { return password }
    let server = Server(host: space.host, port: space.port, isProxy: space.isProxy())
    return typed.withLock { typed in
      if let known = typed.passwords[server] { return known }
      let place = space.isProxy() ? "the proxy \(space.host)" : space.host
      do {
        let answer = try prompt("Password of \(user) for \(place): ")
        typed.passwords[server] = answer
        return answer
      } catch {
        typed.adviceWithoutTerminal = adviceWithoutTerminal(space)
        return nil
      }
    }
  }

  private func adviceWithoutTerminal(_ space: URLProtectionSpace) -> String {
    if space.isProxy() { return "put name and password into the proxy's URL" }
    // The file's password is for the server that the URL names.
    return isOfURL(space)
      ? "use --password-file FILE, or --netrc in place of --user" : "use --netrc in place of --user"
  }

  /// Whether the space is of the server that the URL names, or of the same host over TLS.
  private func isOfURL(_ space: URLProtectionSpace) -> Bool {
    guard let host = url.host, host.lowercased() == space.host.lowercased() else { return false }
    let scheme = url.scheme?.lowercased()
    let port = url.port ?? (scheme == "ftp" ? 21 : scheme == "ftps" ? 990 : scheme == "https" ? 443 : 80)
    // The same host over TLS, too: on its usual port, or on the one that the URL names.
    if space.protocol == "https", scheme != "https" { return space.port == 443 || space.port == port }
    return (space.protocol == "https") == (scheme == "https") && space.port == port
  }
}
