import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// What TLS agreed on for a connection.
package struct TLSFacts: Sendable {
  /// The protocol chosen by ALPN; nil when the client offered none or none matched.
  package var negotiatedProtocol: String?
  package var version: String?
  /// DER of the certificate the client presented; nil when it presented none.
  package var clientCertificate: [UInt8]?
}

/// One accepted connection, as a script sees it: bytes in, bytes out, and the ways to end it.
package final class ServerConnection: Sendable {
  /// 1 for the first connection the server accepted, 2 for the second, and so on.
  package let number: Int
  let channel: any Channel
  let inbox = Monitor(Inbox())
  private let edge: NIOLoopBound<SocketEdge>
  private let facts = Monitor<TLSFacts?>(nil)
  private let front = Mutex<HTTP2Front?>(nil)
  private let script = Mutex<Task<Void, Never>?>(nil)
  private let failed: @Sendable (any Error) -> Void

  init(number: Int, channel: any Channel, edge: SocketEdge, failed: @escaping @Sendable (any Error) -> Void) {
    self.number = number
    self.channel = channel
    self.edge = NIOLoopBound(edge, eventLoop: channel.eventLoop)
    self.failed = failed
  }

  /// What TLS agreed on; nil without TLS.
  package var tls: TLSFacts? { facts.current }

  /// What speaks HTTP/2 on the connection if the client agrees; nil where it is not offered.
  var http2: HTTP2Front? { front.withLock { $0 } }

  func offerHTTP2(_ service: Service) {
    let made = HTTP2Front(connection: self, service: service)
    front.withLock { $0 = made }
  }

  /// The protocol that ALPN chose, once the handshake is over.
  package func handshakeProtocol() async throws -> String? { try await handshake().negotiatedProtocol }

  /// What TLS agreed on, once it has.
  func handshake() async throws -> TLSFacts { try await facts.wait { $0 } }

  // MARK: Bytes

  /// The next bytes from the client; waits for them. nil when the client has closed its side.
  package func read() async throws -> ByteBuffer? {
    let (bytes, mayResume) = try await inbox.wait { inbox -> (ByteBuffer?, Bool)? in
      guard inbox.bytes.readableBytes > 0 else { return inbox.hasEnded ? (nil, false) : nil }
      defer {
        inbox.bytes = ByteBuffer()
        inbox.isPaused = false
      }
      return (inbox.bytes, inbox.isPaused)
    }
    if mayResume { channel.read() }
    return bytes
  }

  /// Exactly `count` bytes; nil when the client closed its side before it had sent so many.
  package func read(exactly count: Int) async throws -> [UInt8]? {
    var collected = ByteBuffer()
    while collected.readableBytes < count {
      guard var more = try await read() else { return nil }
      collected.writeBuffer(&more)
    }
    let bytes = collected.readBytes(length: count)
    unread(collected)
    return bytes
  }

  /// Puts bytes back in front of those still to be read.
  package func unread(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    inbox.update { inbox in
      var joined = bytes
      joined.writeBuffer(&inbox.bytes)
      inbox.bytes = joined
    }
  }

  /// Sends bytes; returns when the kernel has taken them, so a client that does not read slows the script.
  package func write(_ bytes: ByteBuffer) async throws {
    try await channel.writeAndFlush(bytes).get()
  }

  package func write(_ bytes: [UInt8]) async throws {
    try await write(ByteBuffer(bytes: bytes))
  }

  package func write(_ text: String) async throws {
    try await write(ByteBuffer(string: text))
  }

  // MARK: Ends

  /// Says goodbye properly: sends everything, closes its own side (TLS close_notify, FIN), then throws away what the
  /// client still sends until that closes too. A client that never does is cut off in the end.
  package func closeGracefully() async {
    try? await channel.close(mode: .output).get()
    try? await within(patience, "the client to close") {
      while try await self.read() != nil {}
    }
    closeAbruptly()
  }

  /// Sends FIN without a TLS close_notify, and throws away what the client still sends until that closes too: of what was
  /// sent before nothing is lost.
  func finishAbruptly() {
    onLoop { $0.finishAbruptly() }
  }

  /// Makes the connection a TLS connection: sends `announcement` in the clear and is ready for the client's hello.
  package func startTLS(_ tls: ServerTLS, announcing announcement: String) async throws {
    let context = try tls.makeContext()
    let channel = self.channel
    try await channel.eventLoop.submit {
      channel.writeAndFlush(ByteBuffer(string: announcement), promise: nil)
      let pipeline = channel.pipeline.syncOperations
      let inbox = try pipeline.handler(type: InboxHandler.self)
      try pipeline.addHandler(NIOSSLServerHandler(context: context), position: .before(inbox))
    }.get()
  }

  /// Closes this side alone (TLS close_notify, FIN); the client may go on sending.
  package func finishWriting() async throws {
    try await channel.close(mode: .output).get()
  }

  /// Closes the socket without a TLS close_notify and without waiting for the client.
  package func closeAbruptly() {
    onLoop { $0.closeAbruptly() }
  }

  /// Resets the connection (RST). What the client's kernel already has can still be read there.
  package func reset() {
    onLoop { $0.reset() }
  }

  /// Returns when the connection is closed, by whichever side.
  package func waitUntilClosed() async throws {
    try await channel.closeFuture.get()
  }

  private func onLoop(_ act: @escaping @Sendable (SocketEdge) -> Void) {
    if channel.eventLoop.inEventLoop {
      act(edge.value)
    } else {
      channel.eventLoop.execute { [edge] in act(edge.value) }
    }
  }

  // MARK: The script

  /// Runs `body` on the connection's own event loop; it is cancelled when the connection closes.
  func start(_ body: @escaping @Sendable (ServerConnection) async -> Void) {
    let task = Task(executorPreference: ServerLoops.executor(of: channel.eventLoop)) { await body(self) }
    script.withLock { $0 = task }
    channel.closeFuture.whenComplete { _ in task.cancel() }
  }

  /// Stops the script, closes the socket, and returns when the script has ended.
  func abandon() async {
    let task = script.withLock { $0 }
    task?.cancel()
    closeAbruptly()
    await task?.value
  }

  func handshakeCompleted(negotiatedProtocol: String?) {
    let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
    let certificate = try? handler?.peerCertificate?.toDERBytes()
    let version = handler?.tlsVersion.map { "\($0)" }
    facts.update {
      $0 = TLSFacts(negotiatedProtocol: negotiatedProtocol, version: version, clientCertificate: certificate)
    }
  }

  func channelFailed(_ error: any Error) {
    failed(error)
  }
}
