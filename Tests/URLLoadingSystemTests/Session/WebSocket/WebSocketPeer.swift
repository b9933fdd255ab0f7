import Crypto
import Foundation
import LoopbackServer
import NIOCore

/// What a peer reads from and writes to: a connection of its own, or a stream of HTTP/2.
protocol PeerLink: Sendable {
  func read() async throws -> ByteBuffer?
  func read(exactly count: Int) async throws -> [UInt8]?
  func write(_ bytes: [UInt8]) async throws
}

extension ServerConnection: PeerLink {}
extension ScriptedStream: PeerLink {}

/// The server's side of one WebSocket connection, of which a test scripts every byte.
struct WebSocketPeer: Sendable {
  struct Frame: Sendable, Equatable {
    /// FIN, reserved bits and opcode.
    var first: UInt8
    var payload: [UInt8]

    var text: String { String(decoding: payload, as: UTF8.self) }
  }

  let connection: any PeerLink
  let version: WireVersion
  /// `/path?query`.
  let target: String
  /// The fields of the handshake, as they were on the wire.
  let fields: [(name: String, value: String)]
  /// The request line and fields of an HTTP/1.1 handshake.
  let request: String

  /// Reads a handshake; nil when the client goes away before it is complete.
  init?(_ connection: ServerConnection) async throws {
    var text = ""
    while !text.contains("\r\n\r\n") {
      guard let bytes = try await connection.read() else { return nil }
      text += String(buffer: bytes)
    }
    self.connection = connection
    version = .http1
    request = text
    target = text.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
    fields = text.components(separatedBy: "\r\n").dropFirst().compactMap { line in
      line.firstIndex(of: ":").map {
        (String(line[..<$0]), line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces))
      }
    }
  }

  /// A handshake that was read already, with the connection that it came on.
  init(_ head: RequestHead, _ connection: ServerConnection) {
    self.connection = connection
    version = .http1
    request = head.rawText
    target = head.target
    fields = head.fields.map { ($0.name, $0.value) }
  }

  init(_ stream: ScriptedStream) {
    connection = stream
    version = .http2
    request = ""
    target = stream.head.target
    fields = stream.head.fields.map { ($0.name, $0.value) }
  }

  func value(_ name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }

  var path: String { String(target.prefix { $0 != "?" }) }

  var accept: String {
    let text = (value("Sec-WebSocket-Key") ?? "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
  }

  /// Agrees to the handshake, with `lines` as further fields.
  func open(_ lines: [String] = [], then bytes: [UInt8] = []) async throws {
    switch version {
    case .http1:
      try await answer(
        "101 Switching Protocols",
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: \(accept)"] + lines)
    case .http2, .http3: try await answer("200 OK", lines)
    }
    if !bytes.isEmpty { try await send(bytes) }
  }

  /// Answers the handshake with a status and fields, and nothing more.
  func answer(_ status: String, _ lines: [String]) async throws {
    guard let stream = connection as? ScriptedStream else {
      return try await send(Array((["HTTP/1.1 \(status)"] + lines).map { $0 + "\r\n" }.joined().utf8) + [13, 10])
    }
    let fields = lines.compactMap { line in
      line.firstIndex(of: ":").map {
        (name: String(line[..<$0]), value: line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces))
      }
    }
    try await stream.respond(Int(status.prefix(3)) ?? 0, fields: fields)
  }

  /// The next handshake on the same connection of HTTP/1.1; over HTTP/2 each is a stream, and a peer, of its own.
  func next() async throws -> WebSocketPeer? {
    guard let connection = connection as? ServerConnection else { return nil }
    return try await WebSocketPeer(connection)
  }

  func send(_ bytes: [UInt8]) async throws { try await connection.write(bytes) }

  static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    let count = payload.count
    if count < 126 { return [first, UInt8(count)] + payload }
    if count < 65_536 { return [first, 126, UInt8(count >> 8), UInt8(count & 0xFF)] + payload }
    return [first, 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) } + payload
  }

  static func text(_ text: String) -> [UInt8] { frame(0x81, Array(text.utf8)) }

  static func close(_ code: UInt16, _ reason: String = "") -> [UInt8] {
    frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
  }

  /// The client's next frame; nil at the end of the connection. Who asks for the kinds of frames only leaves the
  /// payload masked, which is fast.
  func frame(unmasked: Bool = true) async throws -> Frame? {
    guard let head = try await connection.read(exactly: 2) else { return nil }
    var count = Int(head[1] & 0x7F)
    if count >= 126 {
      guard let more = try await connection.read(exactly: count == 126 ? 2 : 8) else { return nil }
      count = more.reduce(0) { $0 << 8 | Int($1) }
    }
    guard head[1] & 0x80 != 0, let key = try await connection.read(exactly: 4) else { return nil }
    guard count > 0 else { return Frame(first: head[0], payload: []) }
    guard let masked = try await connection.read(exactly: count) else { return nil }
    guard unmasked else { return Frame(first: head[0], payload: masked) }
    return Frame(first: head[0], payload: masked.enumerated().map { $1 ^ key[$0 % 4] })
  }

  /// Reads until a close frame or the end, and returns the code of the former; 1005 for an empty one.
  func closeCode() async throws -> UInt16? {
    while let frame = try await frame() {
      guard frame.first == 0x88 else { continue }
      return frame.payload.count < 2 ? 1005 : UInt16(frame.payload[0]) << 8 | UInt16(frame.payload[1])
    }
    return nil
  }

  /// Answers every message with itself until the client closes.
  func echo() async throws {
    while let frame = try await frame() {
      if frame.first & 0x0F == 8 { return try await send(WebSocketPeer.frame(0x88, frame.payload)) }
      try await send(WebSocketPeer.frame(frame.first == 0x89 ? 0x8A : frame.first, frame.payload))
    }
  }
}

extension LoopbackServer {
  /// The ws or wss URL of `target` on this server.
  func socketURL(_ target: String = "/", host: String? = nil) -> URL {
    let text = url(target, host: host).absoluteString
    return URL(string: "ws" + text.dropFirst(4)) ?? url(target)
  }
}

/// Runs `body` with a server to which every handshake, over the version of HTTP that the test runs over, is followed by
/// `script`; proves that nothing is left open.
func withPeer(
  tls: ServerTLS? = nil, _ script: @escaping @Sendable (WebSocketPeer) async throws -> Void,
  _ body: (LoopbackServer) async throws -> Void
) async throws {
  let server = try await startPeer(tls: tls, script)
  do { try await body(server) } catch {
    await server.shutdown()
    throw error
  }
  try await server.expectNoOpenConnections()
  await server.shutdown()
}

/// A server whose every handshake is followed by `script`.
func startPeer(
  tls: ServerTLS? = nil, _ script: @escaping @Sendable (WebSocketPeer) async throws -> Void
) async throws -> LoopbackServer {
  switch WireVersion.current {
  case .http1:
    return try await LoopbackServer.startRaw(tls: tls) { connection in
      if let peer = try await WebSocketPeer(connection) { try await script(peer) }
    }
  case .http2, .http3:
    var options = LoopbackServer.Options()
    options.http2ConnectProtocol = true
    options.onHead = { _ in .hand { try await script(WebSocketPeer($0)) } }
    return try await LoopbackServer.start(tls: WireVersion.current.tls(), options: options) { _ in .status(500) }
  }
}
