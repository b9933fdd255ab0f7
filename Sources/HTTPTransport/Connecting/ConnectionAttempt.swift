import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import SystemServices

/// One attempt to connect: collects the dates and explains the failure. Confined to its loop.
final class ConnectionAttempt: @unchecked Sendable {
  let key: ConnectionKey
  let loop: any EventLoop
  /// Answers for the waiter that the connection was begun for; nil when the TLS library judges the server.
  private(set) var client: (any HandshakeClient)?
  /// The waiter that can answer for this connection now.
  var respondent: () -> ConnectionWaiter? = { nil }
  /// Whether `client` answers for as long as this lives, without a place in a queue.
  var isAttended = false
  /// Whether HTTP is to be spoken on it, and so is offered by ALPN.
  var isForHTTP = true
  /// An object that has to live until the attempt is over.
  var worker: AnyObject?
  /// Tries the addresses of the host; nil before and after.
  var dialing: AddressDialing?
  /// The address that took the connection, and the server in whose name; nil before, and where no address was chosen.
  var winner: (server: NameMemory.Server, address: NetworkAddress)?
  /// Looks up the address of the host, where a proxy must be told one; nil before and after.
  var proxyLookup: SystemResolver?
  /// Ends what makes a connection over QUIC, though it may wait for an app's answer.
  var quicGaveUp: () -> Void = {}
  /// Opens the way through the proxy, where a stream carries the connection.
  var tunnel: TunnelOpening?
  /// The connection to the proxy whose stream carries this one; nil for none.
  var carrier: ConnectionRecord?
  /// Whether it resumes the TLS session of another connection of one conversation, which a server may demand: the
  /// questions of the handshake were answered there.
  var isPartOfConversation = false
  /// The waiter that is being asked.
  weak var asked: ConnectionWaiter?
  var helloObserver: ServerHelloObserver?
  var serverHandshakeSecret: [UInt8]?
  var identityChoice: EventLoopPromise<NIOSSLContextConfigurationOverride>?
  /// Whether the server asked who the client is. What the server gives for later may come when the attempt is gone.
  let askedForCertificate = NIOLockedValueBox(false)
  /// The server's certificates, its own first (DER), as it sent them in the handshake; none where a session was resumed.
  private(set) var certificates: [[UInt8]] = []
  private(set) var isAsking = false
  let started = NIODeadline.now()
  let resolver: SystemResolver
  let memory: NameMemory
  /// nil where any network will do.
  let access: NetworkAccess?
  private let usesMultipath: Bool
  private let networks: any NetworkDescribing
  var record = ConnectionRecord()
  private let handshake: EventLoopPromise<Void>
  private(set) var isSettled = false
  /// Why the handshake failed.
  private(set) var failure: (any Error)?
  /// Happy Eyeballs may have several sockets open at a time.
  private var channels: [any Channel] = []
  private(set) var isGivenUp = false
  private var handshakeTimer: Scheduled<Void>?
  /// Whether what goes wrong now goes wrong with the server, and no longer with a proxy on the way.
  var isPastProxy: Bool
  /// The server's first bytes, which came together with the end of a proxy's answer.
  var earlyBytes = ByteBuffer()

  /// A server that takes the connection and then says nothing.
  private static let handshakeTimeout = TimeAmount.minutes(2)

  init(
    loop: any EventLoop, key: ConnectionKey, client: (any HandshakeClient)? = nil, usesMultipath: Bool = false,
    networks: any NetworkDescribing, names: NameLookups = .system, freshness: NameFreshness = .current,
    provenNames: ProvenNames = ProvenNames()
  ) {
    self.loop = loop
    self.key = key
    self.client = client
    self.usesMultipath = usesMultipath
    self.networks = networks
    let access =
      key.forbiddenNetworks.isEmpty ? nil : NetworkAccess(forbidden: key.forbiddenNetworks, networks: networks)
    self.access = access
    memory = names.memory
    resolver = SystemResolver(
      loop: loop, names: names, access: access, provenNames: key.requiresDNSSEC ? provenNames : nil,
      freshness: freshness)
    handshake = loop.makePromise(of: Void.self)
    isPastProxy = key.proxy == nil
    record.proxyName = key.proxy?.server.displayName
    if key.scheme == .http { settle(.success(())) }
  }

  /// A socket is about to connect.
  func opened(_ channel: any Channel) throws {
    loop.assertInEventLoop()
    guard !isGivenUp else { throw TransportError.shutDown }
    resolver.connectingBegan()
    channels.append(channel)
  }

  /// Whether a socket was opened.
  var isConnecting: Bool {
    loop.assertInEventLoop()
    return resolver.isConnecting
  }

  /// Ends the attempt, which fails with `shutDown`.
  func giveUp() {
    loop.assertInEventLoop()
    guard !isGivenUp else { return }
    isGivenUp = true
    dialing?.giveUp()
    quicGaveUp()
    closeSockets()
    resolver.cancel()
    proxyLookup?.cancel()
    tunnel?.giveUp()
    settle(.failure(TransportError.shutDown))
  }

  /// Closes all that were opened, but for the one that is used.
  func closeSockets(except used: (any Channel)? = nil) {
    loop.assertInEventLoop()
    for channel in channels where channel !== used { channel.close(promise: nil) }
    channels = used.map { [$0] } ?? []
  }

  /// The TCP connection is there; waits for the handshake that runs on it.
  func secured(_ channel: any Channel) -> EventLoopFuture<any Channel> {
    loop.assertInEventLoop()
    startHandshakeTimer()
    return handshake.futureResult.map { channel }.flatMapErrorThrowing { error in
      channel.close(promise: nil)
      throw error
    }
  }

  private func startHandshakeTimer() {
    handshakeTimer?.cancel()
    guard !isSettled, !isAsking else { return }
    handshakeTimer = loop.assumeIsolated().scheduleTask(in: ConnectionAttempt.handshakeTimeout) {
      let failure = TLSLibraryFailure(.timedOut, text: "no answer for \(ConnectionAttempt.handshakeTimeout)")
      self.settle(.failure(TransportError.tlsHandshakeFailed(.library(failure))))
    }
  }

  /// The server has shown its certificates.
  func noteCertificates(_ chain: [[UInt8]]) {
    loop.assertInEventLoop()
    certificates = chain
  }

  /// An app may think for longer than a server may.
  func questionBegan() {
    loop.assertInEventLoop()
    isAsking = true
    handshakeTimer?.cancel()
  }

  func questionEnded() {
    loop.assertInEventLoop()
    isAsking = false
    asked = nil
    startHandshakeTimer()
  }

  func settle(_ outcome: Result<Void, any Error>) {
    loop.assertInEventLoop()
    guard !isSettled else { return }
    isSettled = true
    if case .failure(let error) = outcome { failure = error }
    handshakeTimer?.cancel()
    // The connection keeps the attempt, which must not keep the load.
    client = nil
    helloObserver = nil
    serverHandshakeSecret = nil
    handshake.completeWith(outcome)
    // Nor the client's private key.
    identityChoice = nil
  }

  /// The record so far: an attempt that is given up may be in any phase.
  var progress: ConnectionRecord {
    loop.assertInEventLoop()
    var record = self.record
    guard let started = resolver.started else { return record }
    record.domainLookupStart = started
    // A name without an address was not resolved, and nothing was connected to.
    record.domainLookupEnd = resolver.ended
    record.connectStart = record.domainLookupEnd
    record.domainResolution = resolver.resolution
    return record
  }

  func established(_ channel: any Channel) -> EstablishedConnection {
    loop.assertInEventLoop()
    channels = []
    // Only now: a machine may take connections and be of no use.
    if let winner { memory.noteWinner(winner.address, of: winner.server) }
    record = progress
    record.connectEnd = .now()
    record.localAddress = channel.localAddress
    record.remoteAddress = channel.remoteAddress
    record.path = NetworkPath(to: record.remoteAddress, from: record.localAddress, networks: networks)
    record.isMultipath = usesMultipath && MultipathTCP.isUsed(by: channel)
    if let carrier {
      // The channel is a socket of this machine.
      record.localAddress = carrier.localAddress
      record.remoteAddress = carrier.remoteAddress
      record.path = carrier.path
      record.isMultipath = carrier.isMultipath
    }
    return EstablishedConnection(
      channel: channel, record: record, earlyBytes: earlyBytes, certificates: certificates)
  }

  func explain(_ error: any Error) -> any Error {
    loop.assertInEventLoop()
    settle(.failure(error))
    if let winner, !isGivenUp {
      memory.forgetWinner(of: winner.server)
      if resolver.hasKeptAnswers { memory.forgetAnswers(about: winner.server.host) }
    }
    let cause = whatItIs(error)
    guard let hop = key.proxy, !isPastProxy, let cause = cause as? TransportError else { return cause }
    switch cause {
    case .hostNotFound(_, let reason): return TransportError.proxyFailed(.init(hop.server, .notFound(reason: reason)))
    case .cannotConnect(_, _, let reason):
      return TransportError.proxyFailed(.init(hop.server, .unreachable(reason: reason)))
    default: return cause
    }
  }

  private func whatItIs(_ error: any Error) -> any Error {
    switch error {
    case let error as AddressDialing.Failure:
      // The other addresses may have had no route.
      if let excluded = resolver.excluded, ConnectionAttempt.areUnreachable(error.errors) {
        return TransportError.networkForbidden(excluded)
      }
      if resolver.isUnproven {
        return TransportError.unprovenName(host: key.dialled.host, reason: resolver.failure ?? "")
      }
      if error.errors.isEmpty {
        return TransportError.hostNotFound(
          host: key.dialled.host, reason: resolver.failure ?? "the name has no address")
      }
      return explain(connectionErrors: error.errors)
    case let error as AddressDialing.Unprepared: return whatItIs(error.cause)
    case is ChannelError, is IOError, is SocketAddressError: return explain(connectionErrors: [error])
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return TransportError.tlsHandshakeFailed(.wrongHost)
    case NIOSSLError.handshakeFailed(let reason):
      if let cause = ClientCertificateFailure.cause(of: error, record.clientCertificate) { return cause }
      let failure = TLSLibraryFailure(reason)
      return TransportError.tlsHandshakeFailed(
        failure.text.contains("certificate verify failed") ? .untrustedRoot : .library(failure))
    case let error as NetworkAccess.Excluded: return TransportError.networkForbidden(error.traits)
    case let error as TransportError: return error
    case let error as ProxyFailure: return TransportError.proxyFailed(error)
    default: return TransportError.tlsHandshakeFailed(.library(TLSLibraryFailure(error)))
    }
  }

  private func explain(connectionErrors: [any Error]) -> TransportError {
    // There is no route, rather than no server.
    if key.socketPath == nil, !connectionErrors.isEmpty, ConnectionAttempt.areUnreachable(connectionErrors) {
      return .networkUnreachable
    }
    // That no network led to another address says nothing of the server.
    let telling = connectionErrors.first { !ConnectionAttempt.areUnreachable([$0]) } ?? connectionErrors.first
    let reason = telling.map { ConnectionAttempt.reason(of: $0) } ?? "no reason given"
    if let path = key.socketPath { return .cannotConnectToSocket(path: path, reason: reason) }
    return .cannotConnect(host: key.dialled.host, port: key.dialled.port, reason: reason)
  }

  /// Whether every attempt met "network is unreachable".
  static func areUnreachable(_ errors: [any Error]) -> Bool {
    errors.allSatisfy { error in
      guard let code = (error as? IOError)?.errnoCode else { return false }
      return code == ENETUNREACH || code == ENETDOWN
    }
  }

  private static func reason(of error: any Error) -> String {
    switch error {
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case ChannelError.connectTimeout: "no answer in time"
    case is SocketAddressError: "the path is longer than the name of a socket can be"
    default: "\(error)"
    }
  }
}
