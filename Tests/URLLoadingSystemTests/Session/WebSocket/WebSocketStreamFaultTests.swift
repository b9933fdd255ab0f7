import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// WebSockets in streams of HTTP/2 whose server does what RFC 8441 says, or does not: every frame is scripted.
@Suite struct WebSocketStreamFaultTests {
  private static let offer: [(UInt16, UInt32)] = [(8, 1)]
  private static func ok(_ fields: [(String, String)] = []) -> HTTP2Peer.Frame {
    HTTP2Peer.headers(1, [(":status", "200")] + fields)
  }
  private static func close(_ code: UInt32 = 8) -> HTTP2Peer.Frame { HTTP2Peer.reset(1, code) }

  private func withStreams(
    _ script: @escaping @Sendable (HTTP2Peer) async throws -> Void,
    _ body: (LoopbackServer, URLSession, WebSocketDelegate, URLSessionWebSocketTask) async throws -> Void
  ) async throws {
    let server = try await HTTP2Peer.start(script: script)
    let (session, delegate, task) = openSocket(server.socketURL("/chat"), protocols: ["mine"])
    do { try await body(server, session, delegate, task) } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Answers every request with its path until the client closes.
  @Sendable private static func serve(_ peer: HTTP2Peer) async throws {
    while let (stream, fields) = try await peer.request() { try await peer.answer(stream, fields[":path"] ?? "") }
  }

  /// What a masked frame with at most 125 bytes says, and its first byte.
  private static func unmasked(_ bytes: [UInt8]) -> (first: UInt8, text: String)? {
    guard bytes.count >= 6, Int(bytes[1] & 0x7f) == bytes.count - 6 else { return nil }
    let text = bytes.dropFirst(6).enumerated().map { $1 ^ bytes[2 + $0 % 4] }
    return (bytes[0], String(decoding: text, as: UTF8.self))
  }

  // MARK: By the rules

  /// Nothing is asked before SETTINGS are there, and the request stays open behind its head.
  @Test func theHandshakeWaitsForSettings() async throws {
    let requests = Recorder<[String: String]>()
    let early = Recorder<UInt8>()
    let ends = Recorder<Bool>()
    let gate = Gate()
    try await withStreams({ peer in
      _ = try await peer.connection.read(exactly: 24)
      var isHeld = true
      // What comes before the server's SETTINGS: the client's own, and its window.
      while isHeld, let frame = try await peer.read() {
        early.record(frame.type)
        isHeld = frame.type != 8
      }
      try await gate.wait()
      try await peer.write(.init(type: 4, payload: [0, 8, 0, 0, 0, 1]))
      guard let (stream, fields) = try await peer.request() else { return }
      requests.record(fields)
      try await peer.write([
        // A length means nothing here (RFC 9110 §9.3.6).
        HTTP2Peer.headers(stream, [(":status", "201"), ("content-length", "0"), ("sec-websocket-protocol", "mine")]),
        HTTP2Peer.data(stream, WebSocketPeer.text("hello") + WebSocketPeer.close(1000, "bye"), endsStream: true),
      ])
      while let frame = try await peer.read(type: 0) {
        ends.record(frame.flags & 1 == 1)
        if frame.flags & 1 == 1 { break }
      }
      try await Self.serve(peer)
    }) { server, session, delegate, task in
      #expect(try await early.first(2) == [4, 8])
      #expect(requests.all.isEmpty)
      gate.open()
      #expect(try await task.receive().text == "hello")
      let request = try await requests.next()
      #expect(request[":method"] == "CONNECT")
      #expect(request[":protocol"] == "websocket")
      #expect(request[":scheme"] == "https")
      #expect(request[":path"] == "/chat")
      #expect(request[":authority"] == "127.0.0.1:\(server.port)")
      #expect(request["sec-websocket-version"] == "13")
      #expect(request["sec-websocket-protocol"] == "mine")
      #expect(request["content-length"] == nil && request["sec-websocket-key"] == nil)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open mine", "close 1000 bye", "completed"])
      // The answer to the close frame carries the end of the stream, and nothing is reset.
      #expect(try await ends.next())
      #expect(try await session.data(from: server.url("/after")).0 == Data("/after".utf8))
      #expect(server.connectionCount == 1)
    }
  }

  /// A message leaves as the server's window opens, in whatever pieces.
  @Test func messagesFollowTheWindow() async throws {
    let count = 1_000
    try await withStreams({ peer in
      try await peer.greet(Self.offer + [(4, 10)])
      guard let (stream, _) = try await peer.request() else { return }
      try await peer.write(Self.ok())
      var received = 0
      // Six bytes of head more: two of length, four of mask.
      while received < count + 8, let frame = try await peer.read(type: 0) {
        #expect(frame.payload.count <= 10)
        received += frame.payload.count
        try await peer.write(HTTP2Peer.windowUpdate(stream, UInt32(frame.payload.count)))
      }
      try await peer.write(HTTP2Peer.data(stream, WebSocketPeer.text("\(received)")))
      while try await peer.read() != nil {}
    }) { _, _, _, task in
      try await task.send(.data(Data(count: count)))
      #expect(try await task.receive().text == "\(count + 8)")
    }
  }

  /// A cancelled task says goodbye, ends its side, and gives up a server that says nothing to that.
  @Test func cancellingEndsTheStream() async throws {
    let seen = Recorder<String>()
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard try await peer.request() != nil else { return }
      try await peer.write([Self.ok(), HTTP2Peer.data(1, WebSocketPeer.text("hello"))])
      while let frame = try await peer.read() {
        if frame.type == 0 { seen.record("\(Self.unmasked(frame.payload)?.first ?? 0) \(frame.flags)") }
        if frame.type == 3 { seen.record("reset \(frame.payload.last ?? 0)") }
        if frame.type == 1 { try await peer.answer(frame.stream, "after") }
      }
    }) { server, session, delegate, task in
      #expect(try await task.receive().text == "hello")
      task.cancel()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "failed -999"])
      #expect(try await seen.first(2) == ["\(0x88) 1", "reset 8"])
      #expect(try await session.data(from: server.url()).0 == Data("after".utf8))
      #expect(server.connectionCount == 1)
    }
  }

  @Test func cancellingTheHandshakeResetsTheStream() async throws {
    let asked = Gate()
    let resets = Recorder<UInt8>()
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard try await peer.request() != nil else { return }
      asked.open()
      if let frame = try await peer.read(type: 3) { resets.record(frame.payload.last ?? 0) }
      try await Self.serve(peer)
    }) { server, session, delegate, task in
      try await asked.wait(within: patience)
      task.cancel()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["failed -999"])
      #expect(try await resets.next() == 8)
      #expect(try await session.data(from: server.url("/after")).0 == Data("/after".utf8))
      #expect(server.connectionCount == 1)
    }
  }

  /// A server that goes away lets the streams finish that it has taken on.
  @Test func goingAwayDoesNotEndASocket() async throws {
    let second = Gate()
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard let (stream, _) = try await peer.request() else { return }
      try await peer.write([Self.ok(), HTTP2Peer.goAway(last: stream, 0)])
      try await second.wait()
      try await peer.write(HTTP2Peer.data(stream, WebSocketPeer.text("still here")))
      while try await peer.read() != nil {}
    }) { server, session, _, task in
      try await task.send(.string("x"))
      #expect(try await session.data(from: server.url("/elsewhere")).0 == Data("/elsewhere".utf8))
      #expect(server.connectionCount == 2)
      second.open()
      #expect(try await task.receive().text == "still here")
    }
  }

  @Test(arguments: [true, false]) func whatIsRefusedIsAskedAgain(_ goesAway: Bool) async throws {
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard let (first, _) = try await peer.request() else { return }
      if peer.connection.number == 1, goesAway {
        try await peer.write(HTTP2Peer.goAway(last: 0, 0))
        while try await peer.read() != nil {}
        return
      }
      if !goesAway { try await peer.write(HTTP2Peer.reset(first, 7)) }
      let stream = goesAway ? first : try await peer.request()?.stream ?? 0
      try await peer.write([
        HTTP2Peer.headers(stream, [(":status", "200")]), HTTP2Peer.data(stream, WebSocketPeer.text("welcome")),
      ])
      while try await peer.read() != nil {}
    }) { server, _, _, task in
      let message = try await task.receive()
      #expect(message.text == "welcome")
      #expect(server.connectionCount == (goesAway ? 2 : 1))
    }
  }

  // MARK: Answers that open nothing

  static let refusals = [
    HTTP2Refusal("404", .badServerResponse, [HTTP2Peer.headers(1, [(":status", "404")], endsStream: true)]),
    HTTP2Refusal(
      "401 with a body", .badServerResponse,
      [HTTP2Peer.headers(1, [(":status", "401")]), HTTP2Peer.data(1, "who are you?", endsStream: true)]),
    HTTP2Refusal(
      "404 and NO_ERROR", .badServerResponse,
      [HTTP2Peer.headers(1, [(":status", "404")], endsStream: true), HTTP2Peer.reset(1, 0)]),
    HTTP2Refusal("another subprotocol", .badServerResponse, [ok([("sec-websocket-protocol", "yours")])]),
    HTTP2Refusal("another extension", .badServerResponse, [ok([("sec-websocket-extensions", "x-own")])]),
    HTTP2Refusal("101, which HTTP/2 does not have", .cannotParseResponse, [HTTP2Peer.headers(1, [(":status", "101")])]),
    HTTP2Refusal("fields of HTTP/1.1", .cannotParseResponse, [ok([("upgrade", "websocket")])]),
    HTTP2Refusal("bytes without a head", .cannotParseResponse, [HTTP2Peer.data(1, WebSocketPeer.text("x"))]),
    HTTP2Refusal("a reset", .networkConnectionLost, [close()]),
  ]

  /// The stream is over, the connection goes on.
  @Test(arguments: refusals) func opensNothing(_ refusal: HTTP2Refusal) async throws {
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard try await peer.request() != nil else { return }
      try await peer.write(refusal.frames)
      try await Self.serve(peer)
    }) { server, session, delegate, task in
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == refusal.code)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["failed \(refusal.code.rawValue)"])
      #expect(task.closeCode == .invalid)
      #expect(try await session.data(from: server.url("/after")).0 == Data("/after".utf8))
      #expect(server.connectionCount == 1)
    }
  }

  /// RFC 9113 §7: a server that wants HTTP/1.1 for this gets it.
  @Test func aServerThatWantsHTTP1GetsIt() async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2", "http/1.1"]
    let server = try await LoopbackServer.startRaw(tls: tls) { connection in
      guard try await connection.handshakeProtocol() == "h2" else {
        guard let peer = try await WebSocketPeer(connection) else { return }
        try await peer.open()
        return try await peer.echo()
      }
      let peer = HTTP2Peer(connection)
      try await peer.greet(Self.offer)
      while let (stream, _) = try await peer.request() { try await peer.write(HTTP2Peer.reset(stream, 0xd)) }
    }
    let (session, _, task) = openSocket(server.socketURL())
    try await task.send(.string("hi"))
    #expect(try await task.receive().text == "hi")
    #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: What ends an open one

  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: URLError.Code
    /// The code that the stream is reset with, where the client is the one to do it.
    let reset: UInt8?
    let frames: [HTTP2Peer.Frame]
    var connectionSurvives: Bool

    init(
      _ description: String, _ code: URLError.Code, reset: UInt8? = nil, survives: Bool = true,
      _ frames: [HTTP2Peer.Frame]
    ) {
      testDescription = description
      self.code = code
      self.reset = reset
      self.frames = frames
      connectionSurvives = survives
    }

    static let all = [
      Fault("the end of the stream", .networkConnectionLost, reset: 8, [HTTP2Peer.data(1, "", endsStream: true)]),
      Fault(
        "the end inside a frame", .networkConnectionLost, reset: 8, [HTTP2Peer.data(1, [0x81, 5], endsStream: true)]),
      Fault("a reset", .networkConnectionLost, [WebSocketStreamFaultTests.close()]),
      Fault("a reset with an error", .networkConnectionLost, [WebSocketStreamFaultTests.close(2)]),
      Fault(
        "header fields in the tunnel", .cannotParseResponse, reset: 1,
        [HTTP2Peer.headers(1, [("a", "b")], endsStream: true)]
      ),
      Fault("a window of nothing", .cannotParseResponse, reset: 1, [HTTP2Peer.windowUpdate(1, 0)]),
      Fault(
        "an offer that is taken back", .cannotParseResponse, survives: false,
        [.init(type: 4, payload: [0, 8, 0, 0, 0, 0])]),
      Fault(
        "a flood of empty DATA", .cannotParseResponse, survives: false,
        Array(repeating: HTTP2Peer.data(1, ""), count: 5_000)),
    ]
  }

  @Test(arguments: Fault.all) func whatEndsASocket(_ fault: Fault) async throws {
    let resets = Recorder<UInt8>()
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard peer.connection.number == 1 else { return try await Self.serve(peer) }
      guard try await peer.request() != nil else { return }
      try await peer.write([Self.ok(), HTTP2Peer.data(1, WebSocketPeer.text("before"))])
      // The client may hang up in the middle.
      do { try await peer.write(fault.frames) } catch { return }
      while let frame = try await peer.read() {
        if frame.type == 3 { resets.record(frame.payload.last ?? 0) }
        if frame.type == 1 { try await peer.answer(frame.stream, "after") }
      }
    }) { server, session, delegate, task in
      // What came before the fault is not lost.
      #expect(try await task.receive().text == "before")
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == fault.code)
      #expect(error?.failingURL == server.socketURL("/chat"))
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "failed \(fault.code.rawValue)"])
      #expect(task.closeCode == .abnormalClosure)
      if let code = fault.reset { #expect(try await resets.next() == code) }
      #expect(try await session.data(from: server.url()).1.url == server.url())
      #expect(server.connectionCount == (fault.connectionSurvives ? 1 : 2))
    }
  }

  /// The connection's end is every stream's end.
  @Test func aLostConnection() async throws {
    try await withStreams({ peer in
      try await peer.greet(Self.offer)
      guard try await peer.request() != nil else { return }
      try await peer.write([Self.ok(), HTTP2Peer.data(1, WebSocketPeer.text("before"))])
      _ = try await peer.read(type: 0)
      peer.connection.reset()
    }) { _, _, delegate, task in
      #expect(try await task.receive().text == "before")
      try await task.send(.string("go"))
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .networkConnectionLost)
      try await delegate.done.wait(within: patience)
      #expect(task.closeCode == .abnormalClosure)
    }
  }
}
