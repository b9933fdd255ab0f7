import HTTPTransport
import NIOCore

/// Answers the handshakes of a control connection and of the data connections that belong to it. What is asked for the
/// first is not asked again for the others: a server with the same certificates is the same server. Confined to the
/// connections' loop.
final class FTPHandshake: HandshakeClient, @unchecked Sendable {
  /// The present load's; nil while there is none.
  var client: (any HandshakeClient)? {
    didSet { loop.assertInEventLoop() }
  }
  private let loop: any EventLoop
  private var accepted: [[UInt8]]?
  private var identity: ClientIdentity??

  init(on loop: any EventLoop) { self.loop = loop }

  /// The connections resume each other's TLS sessions, and only these.
  var mayBeAsked: Bool { false }

  var limits: HandshakeLimits {
    loop.assertInEventLoop()
    return client?.limits ?? HandshakeLimits()
  }

  func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) {
    loop.assertInEventLoop()
    if accepted == certificates { return verdict.succeed() }
    guard let client else { return verdict.fail(TransportError.shutDown) }
    let answer = loop.makePromise(of: Void.self)
    answer.futureResult.assumeIsolated().whenComplete { result in
      if case .success = result { self.accepted = certificates }
      verdict.completeWith(result)
    }
    client.judge(certificates, answer)
  }

  func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
    loop.assertInEventLoop()
    if let identity { return choice.succeed(identity) }
    guard let client else { return choice.fail(TransportError.shutDown) }
    let answer = loop.makePromise(of: ClientIdentity?.self)
    answer.futureResult.assumeIsolated().whenComplete { result in
      if case .success(let identity) = result { self.identity = .some(identity) }
      choice.completeWith(result)
    }
    client.chooseIdentity(for: request, answer)
  }
}
