#if HTTP3
import CQUIC
import NIOCore

/// Makes one QUIC connection: looks the host up, tries its addresses one after the other with a short delay, and has the
/// certificates of the first that answers judged. Confined to the loop.
///
/// The judgement comes behind the handshake and before any request: the library can't wait in the middle of it, and
/// nothing but the handshake's own messages is sent before.
final class QUICDialing: @unchecked Sendable {
  typealias Completion = (Result<EstablishedConnection, ConnectFailure>) -> Void

  private let attempt: ConnectionAttempt
  private let executor: LoopExecutor
  private let endpoint: QUICEndpoint
  private let completion: Completion
  private var lookups = 0
  private var candidates: [SocketAddress] = []
  private var tried: [SocketAddress] = []
  private var dialled: [QUICConnection] = []
  private var opening = 0
  private var timer: Scheduled<Void>?
  private var isOver = false
  private var lastFailure: (any Error)?

  /// RFC 8305 §5: before the next address is tried beside the ones that have not answered.
  private static let stagger = TimeAmount.milliseconds(250)
  /// RFC 8305 §3: how long an answer of one family waits for the other.
  private static let lookupGrace = TimeAmount.milliseconds(50)
  private static let mostAddresses = 4

  init(_ attempt: ConnectionAttempt, endpoint: QUICEndpoint, executor: LoopExecutor, _ completion: @escaping Completion)
  {
    self.attempt = attempt
    self.endpoint = endpoint
    self.executor = executor
    self.completion = completion
  }

  private var loop: any EventLoop { executor.loop }

  func start() {
    loop.assertInEventLoop()
    attempt.record.connectStart = .now()
    if let address = try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port) {
      candidates = [address]
      return tryNext()
    }
    lookups = 2
    let resolver = attempt.resolver
    for (lookup, isFirstChoice) in [
      (resolver.initiateAAAAQuery(host: endpoint.host, port: endpoint.port), true),
      (resolver.initiateAQuery(host: endpoint.host, port: endpoint.port), false),
    ] {
      lookup.assumeIsolated().whenComplete { result in
        self.found((try? result.get()) ?? [], isFirstChoice: isFirstChoice)
      }
    }
  }

  private func found(_ addresses: [SocketAddress], isFirstChoice: Bool) {
    lookups -= 1
    guard !isOver else { return }
    // The families take turns, IPv6 first (RFC 8305 §4).
    candidates =
      isFirstChoice ? QUICDialing.interleaved(addresses, candidates) : QUICDialing.interleaved(candidates, addresses)
    guard tried.isEmpty else { return tryNextIfIdle() }
    if lookups == 0 || isFirstChoice && !addresses.isEmpty { return tryNext() }
    wait(QUICDialing.lookupGrace)
  }

  private static func interleaved(_ first: [SocketAddress], _ second: [SocketAddress]) -> [SocketAddress] {
    var all: [SocketAddress] = []
    for index in 0..<max(first.count, second.count) {
      if index < first.count { all.append(first[index]) }
      if index < second.count { all.append(second[index]) }
    }
    return all
  }

  private func wait(_ time: TimeAmount) {
    timer?.cancel()
    timer = loop.assumeIsolated().scheduleTask(in: time) { [weak self] () -> Void in self?.tryNext() }
  }

  private func tryNextIfIdle() { if opening == 0, dialled.isEmpty { tryNext() } }

  private func tryNext() {
    timer?.cancel()
    timer = nil
    guard !isOver else { return }
    guard let address = candidates.first(where: { !tried.contains($0) }), tried.count < QUICDialing.mostAddresses else {
      if lookups == 0, opening == 0, dialled.isEmpty {
        fail(lastFailure ?? NameFailure(reason: "the name has no address", isAbsence: true))
      }
      return
    }
    tried.append(address)
    opening += 1
    QUICSocket.open(to: address, on: loop).assumeIsolated().whenComplete { result in
      self.opening -= 1
      do { try self.opened(try result.get(), address) } catch { self.oneFailed(nil, error) }
    }
    wait(QUICDialing.stagger)
  }

  private func opened(_ channel: any Channel, _ address: SocketAddress) throws {
    guard !isOver else { return channel.close(promise: nil) }
    do {
      try attempt.opened(channel)
      SocketMarks.mark(channel, attempt.key.trafficClass)
      let quic = QUICConnection(channel: channel, remote: address, executor: executor)
      quic.handshakeCompleted = { [weak self, weak quic] in
        if let self, let quic { self.answered(quic, address) }
      }
      quic.failed = { [weak self, weak quic] failure in self?.oneFailed(quic, failure) }
      try channel.pipeline.syncOperations.addHandler(quic)
      dialled.append(quic)
      try quic.start(host: attempt.key.host)
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  private func oneFailed(_ quic: QUICConnection?, _ error: any Error) {
    loop.assertInEventLoop()
    dialled.removeAll { $0 === quic }
    lastFailure = error
    guard !isOver else { return }
    if attempt.isGivenUp { return fail(TransportError.shutDown) }
    // A server that has answered says more than one that has not.
    tryNext()
  }

  /// The first that answers is the one; it is judged before it counts.
  private func answered(_ quic: QUICConnection, _ address: SocketAddress) {
    guard !isOver, let machine = quic.machine else { return }
    isOver = true
    timer?.cancel()
    for other in dialled where other !== quic {
      other.failed = { _ in }
      other.close(.noError)
    }
    dialled = [quic]
    guard cquic_was_asked_for_certificate(machine) == 0 else {
      // Over TCP the app is asked for it.
      quic.failed = { _ in }
      quic.close(.noError)
      return fail(TransportError.tlsHandshakeFailed(.clientCertificateRequired))
    }
    attempt.record.secureConnectionStart = attempt.record.connectStart
    attempt.record.secureConnectionEnd = .now()
    attempt.record.protocolName = "h3"
    attempt.record.tlsVersion = 0x0304
    attempt.record.tlsCipherSuite = cquic_cipher_suite(machine)
    attempt.record.localAddress = quic.channel.localAddress
    attempt.record.remoteAddress = address
    let chain = (0..<cquic_certificate_count(machine)).compactMap { index -> [UInt8]? in
      var length = 0
      return cquic_certificate(machine, index, &length).map { Array(UnsafeBufferPointer(start: $0, count: length)) }
    }
    attempt.record.serverCertificate = chain.first.flatMap { ServerCertificate(der: $0) }
    quic.failed = { [weak self] failure in self?.endedWhileJudged(failure) }
    attempt.judge(chain) { isTrusted in
      guard isTrusted, quic.failure == nil else { return self.refused(quic) }
      self.attempt.settle(.success(()))
      quic.failed = { _ in }
      var established = self.attempt.established(quic.channel)
      established.quic = quic
      self.dialled = []
      self.deliver(.success(established))
    }
  }

  private var endedWith: QUICFailure?
  private var isDelivered = false

  private func endedWhileJudged(_ failure: QUICFailure) { endedWith = failure }

  private func refused(_ quic: QUICConnection) {
    quic.failed = { _ in }
    quic.close(.noError)
    let reason = attempt.failure ?? endedWith?.transportError ?? TransportError.shutDown
    deliver(.failure(ConnectFailure(cause: attempt.explain(reason), record: attempt.progress)))
  }

  private func fail(_ error: any Error) {
    isOver = true
    timer?.cancel()
    let cause: any Error =
      switch error {
      case let failure as QUICFailure where failure.kind == .unreachable || failure.kind == .silent:
        TransportError.cannotConnect(host: endpoint.host, port: endpoint.port, reason: failure.text)
      case let failure as QUICFailure where failure.kind == .tls:
        TransportError.tlsHandshakeFailed(.other("the server ended the handshake (\(failure.text))"))
      case let failure as QUICFailure: failure.transportError
      case is NameFailure:
        TransportError.hostNotFound(host: endpoint.host, reason: attempt.resolver.failure ?? "the name has no address")
      default: error
      }
    deliver(.failure(ConnectFailure(cause: attempt.explain(cause), record: attempt.progress)))
  }

  private func deliver(_ result: Result<EstablishedConnection, ConnectFailure>) {
    guard !isDelivered else { return }
    isDelivered = true
    attempt.worker = nil
    completion(result)
  }
}

extension Connector {
  /// As `connect`, over QUIC. The attempt that is returned can be given up, which is a failure like any other.
  func connectQUIC(
    to key: ConnectionKey, endpoint: QUICEndpoint, on executor: LoopExecutor, for client: (any HandshakeClient)?,
    _ completion: @escaping QUICDialing.Completion
  ) -> ConnectionAttempt {
    loop.assertInEventLoop()
    let attempt = makeAttempt(to: key, for: client)
    let dialing = QUICDialing(attempt, endpoint: endpoint, executor: executor, completion)
    attempt.worker = dialing
    dialing.start()
    return attempt
  }
}
#endif
