#if HTTP3
import CQUIC
import Glibc
import NIOCore

/// One QUIC connection: moves datagrams between the socket and the state machine in C, and runs its timers. It is the
/// handler of the socket's channel. Confined to the channel's loop.
///
/// Events of the state machine are noted while datagrams go in, and acted upon behind them: nothing calls it from inside
/// its own calls. What is to be sent leaves when the loads of this turn of the loop have run, in bursts that the congestion
/// controller allows and that the kernel cuts into datagrams where it can.
final class QUICConnection: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  /// Another one after the connection has moved to another address.
  private(set) var channel: any Channel
  /// The channel's, which it forgets when it is closed.
  private var lastAddress: SocketAddress?
  private let executor: LoopExecutor
  private let remote: SocketAddress
  private let trafficClass: TrafficClass
  /// nil once the connection is freed.
  private(set) var machine: OpaquePointer?
  private(set) var failure: QUICFailure?
  private(set) var isReady = false
  private var isMoving = false
  /// The network has changed since a new socket was asked for.
  private var mustMoveAgain = false
  /// A socket was lost, and nothing came from the server since.
  private var hasLostSocket = false
  /// The ticket that was shown to the server.
  private var ticket: QUICTicket?
  /// Tickets that the server gave before it was trusted.
  private var received: [QUICTicket] = []
  private var keepTicket: ((QUICTicket) -> Void)?
  private(set) var peerSettings = HTTP3PeerSettings()
  private var timer: (deadline: UInt64, scheduled: Scheduled<Void>)?
  private var sendIsScheduled = false
  private var wasBlocked = false
  /// Messages of the system that nothing listens there, since the server's last datagram.
  private var refusals = 0

  /// The time of the last datagram from the server's address.
  private(set) var lastHeard: NIODeadline?

  /// Called once, when the handshake is complete.
  var handshakeCompleted: () -> Void = {}
  /// Called once, when the connection can't go on.
  var failed: (QUICFailure) -> Void = { _ in }
  /// The streams of the connection have told something.
  weak var http: HTTP3Connection?

  /// Datagrams that leave together. One system call takes 64 KiB at most.
  private static let batchBytes = 48 * 1024
  private static let refusalsOfTheGone = 3

  init(channel: any Channel, remote: SocketAddress, trafficClass: TrafficClass, executor: LoopExecutor) {
    self.channel = channel
    self.remote = remote
    self.trafficClass = trafficClass
    self.executor = executor
  }

  deinit { if let machine { cquic_connection_free(machine) } }

  func assertInEventLoop() { channel.eventLoop.assertInEventLoop() }

  static func now() -> UInt64 { NIODeadline.now().uptimeNanoseconds }

  // MARK: Life

  /// Reads from a socket that becomes the connection's.
  func attach(_ channel: any Channel) throws {
    SocketMarks.mark(channel, trafficClass)
    try channel.pipeline.syncOperations.addHandler(self)
  }

  /// Begins the handshake. Throws when the connection can't be made.
  func start(host: String, ticket: QUICTicket?, sendsEarlyData: Bool, identity: ClientIdentity?) throws {
    assertInEventLoop()
    self.ticket = ticket
    lastAddress = channel.localAddress
    guard let local = lastAddress else { throw TransportError.connectionLost(reason: "the socket is closed") }
    let made = local.withSockAddr { localAddress, localLength in
      remote.withSockAddr { remoteAddress, remoteLength in
        QUICConnection.withParts(host, identity) { name, certificates, key in
          var options = cquic_options()
          options.host = name
          options.is_name = Connector.serverName(host) == nil ? 0 : 1
          options.local = localAddress
          options.local_length = socklen_t(localLength)
          options.remote = remoteAddress
          options.remote_length = socklen_t(remoteLength)
          options.stream_window = UInt64(HTTP3Connection.streamWindow)
          options.largest_stream_window = UInt64(HTTP3Connection.largestStreamWindow)
          options.connection_window = UInt64(HTTP3Connection.window)
          options.largest_field_section = UInt64(ResponseLimits.standard.headBytes)
          options.idle_timeout = UInt64(HTTP3Connection.idleTimeout.nanoseconds)
          options.handshake_timeout = UInt64(HTTP3Connection.handshakeTimeout.nanoseconds)
          options.now = QUICConnection.now()
          options.ticket = ticket?.handle
          options.sends_early_data = sendsEarlyData ? 1 : 0
          options.certificates = certificates.baseAddress
          options.certificate_count = certificates.count
          options.key = key
          var events = QUICEvents.table()
          return cquic_connection_new(&options, &events, Unmanaged.passUnretained(self).toOpaque())
        }
      }
    }
    guard let made else { throw TransportError.connectionLost(reason: "QUIC could not be started") }
    machine = made
    scheduleSend()
  }

  /// Calls `body` with the name and the identity as C takes them.
  private static func withParts<Result>(
    _ host: String, _ identity: ClientIdentity?,
    _ body: (UnsafePointer<CChar>, UnsafeBufferPointer<cquic_bytes>, cquic_bytes) -> Result
  ) -> Result {
    let all = (identity.map { $0.certificates + [$0.privateKey] } ?? [])
    let joined = all.flatMap { $0 }
    return joined.withUnsafeBufferPointer { bytes in
      var start = 0
      var parts = all.map { part in
        defer { start += part.count }
        return cquic_bytes(bytes: bytes.baseAddress.map { $0 + start }, length: part.count)
      }
      let key = parts.popLast() ?? cquic_bytes()
      return parts.withUnsafeBufferPointer { certificates in host.withCString { body($0, certificates, key) } }
    }
  }

  // MARK: The handshake

  /// Whether requests leave before it is complete.
  var sendsEarlyData: Bool { machine.map { cquic_sends_early_data($0) != 0 } ?? false }

  /// The round trip of the connection that this one continues, a second at most; zero where it continues none.
  var expectedRoundTrip: TimeAmount {
    .nanoseconds(ticket.map { Int64(min(cquic_ticket_round_trip($0.handle), 1_000_000_000)) } ?? 0)
  }

  /// Sends the requests that wait for its end: the server is trusted.
  func beginRequests() {
    assertInEventLoop()
    guard let machine else { return }
    cquic_begin_requests(machine)
    scheduleSend()
  }

  /// The certificates that the server has shown, in this handshake or in the one that this continues.
  var certificates: [[UInt8]] {
    guard let machine else { return [] }
    if cquic_was_resumed(machine) != 0, let ticket { return ticket.certificates }
    return QUICConnection.list(cquic_certificate_count(machine)) { cquic_certificate(machine, $0, &$1) }
  }

  var wasAskedForCertificate: Bool { machine.map { cquic_was_asked_for_certificate($0) != 0 } ?? false }

  /// The names (DER) of the authorities whose certificates the server wants.
  var authorities: [[UInt8]] {
    guard let machine else { return [] }
    return QUICConnection.list(cquic_authority_count(machine)) { cquic_authority(machine, $0, &$1) }
  }

  var cipherSuite: UInt16? { machine.map { cquic_cipher_suite($0) } }

  private static func list(_ count: Int, _ item: (Int, inout Int) -> UnsafePointer<UInt8>?) -> [[UInt8]] {
    (0..<count).compactMap { index in
      var length = 0
      return item(index, &length).map { Array(UnsafeBufferPointer(start: $0, count: length)) }
    }
  }

  /// Calls `keep` with each ticket that the server gives, and has given: it is trusted.
  func keepTickets(_ keep: @escaping (QUICTicket) -> Void) {
    assertInEventLoop()
    keepTicket = keep
    for ticket in received { keep(ticket) }
    received = []
  }

  // MARK: The end

  /// Ends the connection with a code of HTTP/3, and tells the server.
  func close(_ code: HTTP3ErrorCode) {
    assertInEventLoop()
    handshakeCompleted = {}
    guard let machine else { return channel.close(promise: nil) }
    if failure == nil { failure = QUICFailure(kind: .closed, code: 0, text: "the connection was closed") }
    sayGoodbye(machine, code)
    end()
  }

  private func sayGoodbye(_ machine: OpaquePointer, _ code: HTTP3ErrorCode) {
    guard channel.isActive else { return }
    var datagram = channel.allocator.buffer(capacity: cquic_largest_datagram())
    _ = datagram.writeWithUnsafeMutableBytes(minimumWritableBytes: cquic_largest_datagram()) { space in
      max(
        0,
        cquic_close(
          machine, space.bindMemory(to: UInt8.self).baseAddress, space.count, code.rawValue, QUICConnection.now()))
    }
    guard datagram.readableBytes > 0 else { return }
    channel.writeAndFlush(AddressedEnvelope(remoteAddress: remote, data: datagram), promise: nil)
  }

  private func end() {
    timer?.scheduled.cancel()
    timer = nil
    if let machine {
      self.machine = nil
      cquic_connection_free(machine)
    }
    channel.close(promise: nil)
  }

  /// The connection can't go on, for the reason that the state machine has.
  private func fail() {
    guard failure == nil, let machine else { return }
    let reason = QUICFailure(cquic_failure_of(machine))
    sayGoodbye(machine, .noError)
    fail(reason)
  }

  private func fail(_ reason: QUICFailure) {
    guard failure == nil else { return }
    failure = reason
    let failed = failed
    self.failed = { _ in }
    handshakeCompleted = {}
    // Streams refer to the machine until they have heard.
    failed(reason)
    end()
  }

  // MARK: What the machine tells

  func completedHandshake() { isReady = true }

  private static let mostTickets = 4

  func received(_ ticket: OpaquePointer) {
    let made = QUICTicket(ticket, certificates: certificates, address: remote)
    if let keepTicket { return keepTicket(made) }
    if received.count < QUICConnection.mostTickets { received.append(made) }
  }

  /// - Returns: whether more bytes are wanted.
  func received(_ bytes: UnsafeBufferPointer<UInt8>, ofServerStream stream: Int64) -> Bool {
    let wantsMore = peerSettings.read(bytes, of: stream)
    if !wantsMore { http?.receivedSettings() }
    return wantsMore
  }

  private var hasToldOfHandshake = false

  /// Acts upon what was noted while the machine ran.
  private func act() {
    if isReady, !hasToldOfHandshake, failure == nil {
      hasToldOfHandshake = true
      let completed = handshakeCompleted
      handshakeCompleted = {}
      completed()
    }
    http?.act()
  }

  // MARK: Sending

  /// Sends together what the loads of this turn of the loop write.
  func scheduleSend() {
    assertInEventLoop()
    guard !sendIsScheduled, machine != nil else { return }
    sendIsScheduled = true
    executor.afterJobs { [self] in
      sendIsScheduled = false
      send()
    }
  }

  private func send() {
    assertInEventLoop()
    guard let machine, failure == nil else { return }
    guard channel.isWritable || !channel.isActive else {
      wasBlocked = true
      return
    }
    let now = QUICConnection.now()
    let quantum = max(cquic_send_quantum(machine), cquic_largest_datagram())
    var burst = QUICBurst(channel: channel, remote: remote, batchBytes: QUICConnection.batchBytes)
    var sent = 0
    while sent < quantum {
      let written = burst.append { space, ecn in
        cquic_send(machine, space.bindMemory(to: UInt8.self).baseAddress, space.count, &ecn, now)
      }
      guard written >= 0 else {
        burst.flush()
        fail()
        return act()
      }
      if written == 0 { break }
      sent += written
    }
    burst.flush()
    // The socket may have failed in there, which ends the machine.
    guard self.machine == machine else { return act() }
    cquic_burst_ended(machine, now)
    schedule()
    act()
  }

  // MARK: Moving

  /// Another network came or went: the connection moves to the address from which the server is reached now (RFC 9000 §9).
  func networkChanged() {
    assertInEventLoop()
    guard isReady, failure == nil else { return }
    guard !isMoving else {
      mustMoveAgain = true
      return
    }
    isMoving = true
    QUICSocket.open(to: remote, on: channel.eventLoop).assumeIsolated().whenComplete { result in
      self.isMoving = false
      // The next change is waited for where no way leads to the server now.
      if case .success(let socket) = result { self.move(to: socket) }
      guard self.mustMoveAgain else { return }
      self.mustMoveAgain = false
      self.networkChanged()
    }
  }

  /// The system closes the socket of an address that is gone. The exchanges that are open go on from another one, now or
  /// when the network changes; until then all datagrams are lost.
  private func socketLost() {
    guard isReady, failure == nil, machine != nil, !hasLostSocket, http?.outlivesSocket() == true else {
      fail(QUICFailure(kind: .closed, code: 0, text: "the socket was closed"))
      return act()
    }
    hasLostSocket = true
    networkChanged()
  }

  private func move(to socket: any Channel) {
    guard let machine, failure == nil, let address = socket.localAddress,
      !channel.isActive || !address.isSameHost(as: lastAddress), (try? attach(socket)) != nil
    else { return socket.close(promise: nil) }
    guard address.withSockAddr({ cquic_migrate(machine, $0, socklen_t($1), QUICConnection.now()) }) != 0 else {
      socket.close(promise: nil)
      guard !channel.isActive else { return }
      let mayMove = cquic_may_migrate(machine) != 0
      let reason = mayMove ? "" : ", since its server allows that to none"
      fail(
        QUICFailure(kind: .closed, code: 0, text: "the connection can't move to this machine's new address\(reason)"))
      return act()
    }
    lastAddress = address
    let before = channel
    channel = socket
    before.close(promise: nil)
    wasBlocked = false
    scheduleSend()
    http?.moved(to: address)
  }

  // MARK: Time

  private func schedule() {
    guard let machine else { return }
    let expiry = cquic_expiry(machine)
    guard expiry != .max else {
      timer?.scheduled.cancel()
      timer = nil
      return
    }
    // A timer that comes early looks again; one that is later than it must be is replaced.
    if let timer, timer.deadline <= expiry { return }
    timer?.scheduled.cancel()
    let scheduled = channel.eventLoop.assumeIsolated().scheduleTask(deadline: .uptimeNanoseconds(expiry)) {
      [weak self] () -> Void in self?.expired()
    }
    timer = (expiry, scheduled)
  }

  private func expired() {
    assertInEventLoop()
    timer = nil
    guard let machine, failure == nil else { return }
    let now = QUICConnection.now()
    guard cquic_expiry(machine) <= now else { return schedule() }
    guard cquic_expired(machine, now) != 0 else {
      fail()
      return act()
    }
    send()
  }

  // MARK: ChannelInboundHandler

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    assertInEventLoop()
    guard let machine, failure == nil, context.channel === channel else { return }
    refusals = 0
    hasLostSocket = false
    let heard = NIODeadline.now()
    lastHeard = heard
    let envelope = unwrapInboundIn(data)
    let ecn = envelope.metadata.map { QUICBurst.bits($0.ecnState) } ?? 0
    let now = heard.uptimeNanoseconds
    let segment = max(1, envelope.metadata?.segmentSize ?? envelope.data.readableBytes)
    let isAlive = envelope.data.withUnsafeReadableBytes { bytes -> Bool in
      var start = 0
      // Datagrams that the kernel has joined.
      while start < bytes.count {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + segment, bytes.count)])
        guard cquic_receive(machine, piece.bindMemory(to: UInt8.self).baseAddress, piece.count, ecn, now) != 0 else {
          return false
        }
        start += segment
      }
      return true
    }
    if !isAlive { fail() }
  }

  private static func text(of error: any Error) -> String {
    (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    assertInEventLoop()
    act()
    scheduleSend()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    assertInEventLoop()
    guard wasBlocked, channel.isWritable else { return }
    wasBlocked = false
    scheduleSend()
  }

  /// An error of the socket: nothing listens at the address, or no route leads there.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    assertInEventLoop()
    guard context.channel === channel else { return }
    // One such message may be forged or out of date (RFC 9000 §14.2.1); behind the handshake it takes several, and nothing
    // from the server between them.
    refusals += 1
    guard !isReady || refusals >= QUICConnection.refusalsOfTheGone else { return }
    fail(QUICFailure(kind: .unreachable, code: 0, text: QUICConnection.text(of: error)))
  }

  func channelInactive(context: ChannelHandlerContext) {
    assertInEventLoop()
    // The connection has left it.
    guard context.channel === channel else { return }
    socketLost()
  }
}

extension SocketAddress {
  /// Whether both are of one interface's address, whatever the port.
  fileprivate func isSameHost(as other: SocketAddress?) -> Bool { ipAddress != nil && ipAddress == other?.ipAddress }
}
#endif
