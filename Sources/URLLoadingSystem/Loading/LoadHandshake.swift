import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// Answers for one load what a TLS handshake asks: the client by way of a challenge, or the rules when the client
/// leaves it to them. Confined to the load's loop but for the questions, which come from the connection's.
final class LoadHandshake: HandshakeClient {
  private let context: LoadContext
  private let host: String
  private let port: Int
  private let isForHTTP: Bool
  /// Of the protection spaces that the app is asked about.
  private let spaceProtocol: String?

  /// For HTTP over TLS, or with `isForHTTP` false for bytes of which App Transport Security says nothing.
  convenience init(_ context: LoadContext, host: String, port: Int, isForHTTP: Bool = true) {
    self.init(
      context, host: host, port: port, isForHTTP: isForHTTP,
      spaceProtocol: isForHTTP ? NSURLProtectionSpaceHTTPS : nil)
  }

  /// For FTP over TLS.
  convenience init(ftp context: LoadContext, host: String, port: Int) {
    self.init(context, host: host, port: port, isForHTTP: false, spaceProtocol: NSURLProtectionSpaceFTP)
  }

  private init(_ context: LoadContext, host: String, port: Int, isForHTTP: Bool, spaceProtocol: String?) {
    self.context = context
    self.host = host
    self.port = port
    self.isForHTTP = isForHTTP
    self.spaceProtocol = spaceProtocol
  }

  var mayBeAsked: Bool {
    isAnswered(NSURLAuthenticationMethodServerTrust) || isAnswered(NSURLAuthenticationMethodClientCertificate)
  }

  var limits: HandshakeLimits {
    guard isForHTTP, let rule = context.configuration.transportSecurity?.rule(forHost: host) else {
      return HandshakeLimits()
    }
    return HandshakeLimits(
      minimumVersion: rule.minimumTLSVersion, requiresForwardSecrecy: rule.requiresForwardSecrecy)
  }

  private func isAnswered(_ method: String) -> Bool {
    context.client.load(context, mayAnswerChallengesOf: method)
  }

  // MARK: The server

  func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) {
    let trust = SecTrust(
      certificates: certificates.map { SecCertificate(derBytes: Data($0)) }, host: host,
      roots: context.configuration.transport.trustRoots)
    context.start { _ in
      do {
        try await self.judge(trust)
        verdict.succeed()
      } catch { verdict.fail(TransportError.refused(error)) }
    }
  }

  private func judge(_ trust: SecTrust) async throws {
    context.loop.assertInEventLoop()
    guard isAnswered(NSURLAuthenticationMethodServerTrust) else { return try await judgeByRules(trust) }
    let answer = try await ask(NSURLAuthenticationMethodServerTrust, trust: trust)
    switch answer.disposition {
    case .useCredential:
      if case .trust? = answer.credential?.kind { return await noteTrust(trust) }
      try await judgeByRules(trust)
    case .performDefaultHandling: try await judgeByRules(trust)
    case .cancelAuthenticationChallenge: throw ErrorMapping.cancelled
    case .rejectProtectionSpace:
      throw error(.serverCertificateUntrusted, "the app does not accept its certificate", trust)
    }
  }

  private func judgeByRules(_ trust: SecTrust) async throws {
    guard let failure = await trust.evaluate().failure else { return }
    throw error(failure.urlErrorCode, failure.phrase, trust, because: failure.error)
  }

  /// The app vouches for the server; HSTS wants to know whether the rules would, too.
  private func noteTrust(_ trust: SecTrust) async {
    guard isForHTTP, context.configuration.unixSocketPath == nil, let hsts = context.configuration.hsts else { return }
    hsts.judge(host, port: port, isTrusted: await trust.evaluate().failure == nil)
  }

  private func error(
    _ code: URLError.Code, _ phrase: String, _ trust: SecTrust, because cause: (any Error)? = nil
  ) -> URLError {
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: "The server \(host) is not trusted: \(phrase).",
      NSURLErrorFailingURLPeerTrustErrorKey: trust, "NSErrorPeerCertificateChainKey": trust.certificates,
    ]
    userInfo[NSUnderlyingErrorKey] = cause
    return URLError(code, userInfo: userInfo)
  }

  // MARK: The client

  func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
    context.start { _ in
      do { choice.succeed(try await self.identity(for: request)) } catch {
        choice.fail(TransportError.refused(error))
      }
    }
  }

  private func identity(for request: CertificateRequest) async throws -> ClientIdentity? {
    context.loop.assertInEventLoop()
    guard isAnswered(NSURLAuthenticationMethodClientCertificate) else { return nil }
    let answer = try await ask(
      NSURLAuthenticationMethodClientCertificate, authorities: request.authorities.map { Data($0) })
    switch answer.disposition {
    case .useCredential:
      guard case .certificate(let identity, let chain)? = answer.credential?.kind else { return nil }
      var certificates = [identity.certificate]
      // The identity's own certificate may have been listed again.
      for certificate in chain where certificate != identity.certificate { certificates.append(certificate) }
      return ClientIdentity(
        certificates: certificates.map { Array($0.derBytes) }, privateKey: Array(identity.privateKeyDERBytes))
    case .performDefaultHandling, .rejectProtectionSpace: return nil
    case .cancelAuthenticationChallenge: throw ErrorMapping.cancelled
    }
  }

  private func ask(
    _ method: String, trust: SecTrust? = nil, authorities: [Data]? = nil
  ) async throws -> ChallengeAnswer {
    let space = URLProtectionSpace(
      host: host, port: port, protocol: spaceProtocol, realm: nil,
      authenticationMethod: method,
      distinguishedNames: authorities, serverTrust: trust)
    return try await context.client.load(context, didReceive: URLAuthenticationChallenge(protectionSpace: space))
  }
}
