import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// WebSocket tasks against a scripted peer that keeps to the rules.
@Suite(.overEveryVersion) struct WebSocketTaskTests {
  @Test func messagesBothWaysInOrder() async throws {
    try await withPeer({ peer in
      try await peer.open()
      try await peer.echo()
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL("/chat?room=1"))
      defer { session.invalidateAndCancel() }
      let long = String(repeating: "grüße ", count: 60_000)
      task.maximumMessageSize = 1 << 20
      for text in ["one", "", long, "last"] { try await task.send(.string(text)) }
      for text in ["one", "", long, "last"] { #expect(try await task.receive().text == text) }
      let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
      try await task.send(.data(bytes))
      #expect(try await task.receive().bytes == bytes)
      let sum = Int64(3 + 4 + long.utf8.count + bytes.count)
      #expect(task.countOfBytesSent == sum)
      #expect(task.countOfBytesReceived == sum)
      task.cancel(with: .normalClosure, reason: Data("done".utf8))
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "close 1000 done", "completed"])
      #expect(task.closeCode == .normalClosure)
      #expect(task.closeReason == Data("done".utf8))
      #expect(task.state == .completed)
      #expect(task.error == nil)
    }
  }

  @Test func theHandshakeOnTheWire() async throws {
    let handshakes = Recorder<WebSocketPeer>()
    try await withPeer({ peer in
      handshakes.record(peer)
      try await peer.open(["Sec-WebSocket-Protocol: v2.chat"])
      try await peer.echo()
    }) { server in
      let delegate = WebSocketDelegate()
      let configuration = URLSessionConfiguration.loopback
      configuration.httpAdditionalHeaders = ["X-Session": "s", "Connection": "close", "Upgrade": "h2c"]
      let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: serialQueue())
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: server.socketURL("/a?b#c"), protocols: ["v2.chat", "chat"])
      task.resume()
      try await task.send(.string("hi"))
      let peer = try await handshakes.next()
      #expect(peer.target == "/a?b")
      #expect(peer.value("Host") == "127.0.0.1:\(server.port)")
      switch WireVersion.current {
      case .http1:
        #expect(peer.request.hasPrefix("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(peer.value("Upgrade") == "websocket")
        #expect(peer.value("Connection") == "Upgrade")
        #expect(peer.fields.filter { ["connection", "upgrade"].contains($0.name.lowercased()) }.count == 2)
        #expect(Data(base64Encoded: peer.value("Sec-WebSocket-Key") ?? "")?.count == 16)
      case .http2, .http3:
        let head = try await server.nextHead()
        #expect(head.method == "CONNECT")
        #expect(head.connectProtocol == "websocket")
        for name in ["Upgrade", "Connection", "Sec-WebSocket-Key", "Content-Length"] {
          #expect(peer.value(name) == nil)
        }
      }
      #expect(peer.value("Sec-WebSocket-Version") == "13")
      #expect(peer.value("Sec-WebSocket-Protocol") == "v2.chat, chat")
      #expect(peer.value("Sec-WebSocket-Extensions") == "permessage-deflate; client_max_window_bits")
      #expect(peer.value("X-Session") == "s")
      #expect((task.response as? HTTPURLResponse)?.statusCode == (peer.version == .http1 ? 101 : 200))
      #expect(task.response?.url?.scheme == server.socketURL().scheme)

      // The request's own fields are sent as they are; its method and body are not.
      var request = URLRequest(url: server.socketURL("/own"))
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      request.setValue("v2.chat,other", forHTTPHeaderField: "Sec-WebSocket-Protocol")
      request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
      let own = session.webSocketTask(with: request)
      own.resume()
      try await own.send(.string("hi"))
      let second = try await handshakes.next()
      #expect(second.version == .http2 || second.request.hasPrefix("GET /own HTTP/1.1\r\n"))
      #expect(second.value("Sec-WebSocket-Protocol") == "v2.chat,other")
      #expect(second.value("Authorization") == "Bearer t")
      #expect(second.value("Content-Length") == nil)
      #expect(second.version == .http2 || second.value("Sec-WebSocket-Key") != peer.value("Sec-WebSocket-Key"))
      #expect(try await delegate.events.first(2) == ["open v2.chat", "open v2.chat"])
    }
  }

  /// What is asked for before the handshake, or before the start, waits for it; handlers run on the delegate's queue.
  @Test func whatIsAskedForEarlyWaits() async throws {
    let gate = Gate()
    try await withPeer({ peer in
      try await gate.wait()
      try await peer.open(then: WebSocketPeer.text("first"))
      try await peer.echo()
    }) { server in
      let queue = serialQueue()
      let session = URLSession(configuration: .loopback, delegate: nil, delegateQueue: queue)
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: server.socketURL())
      let heard = Recorder<String>()
      for _ in 0..<3 {
        task.receive { result in
          heard.record(((try? result.get().text) ?? "-") + (OperationQueue.current === queue ? "" : " astray"))
        }
      }
      task.send(.string("second")) { heard.record($0 == nil ? "sent" : "failed") }
      task.resume()
      task.send(.string("third")) { heard.record($0 == nil ? "sent" : "failed") }
      #expect(heard.all.isEmpty)
      gate.open()
      let all = try await heard.first(5)
      #expect(all.filter { $0 != "sent" } == ["first", "second", "third"])
      #expect(all.filter { $0 == "sent" }.count == 2)
    }
  }

  @Test func pingsAreAnsweredAndPongsHeard() async throws {
    let frames = Recorder<WebSocketPeer.Frame>()
    try await withPeer({ peer in
      try await peer.open(then: WebSocketPeer.frame(0x89, Array("are you there".utf8)))
      while let frame = try await peer.frame() {
        frames.record(frame)
        guard frame.first == 0x89 else { continue }
        // A pong that answers nothing is ignored; the last ping's pong answers those before it too.
        try await peer.send(WebSocketPeer.frame(0x8A, [1, 2, 3]))
        if frames.all.filter({ $0.first == 0x89 }).count == 3 {
          try await peer.send(WebSocketPeer.frame(0x8A, frame.payload))
        }
      }
    }) { server in
      let (session, _, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      let pongs = Recorder<String>()
      for number in 1...2 { task.sendPing { pongs.record($0 == nil ? "pong \(number)" : "failed \(number)") } }
      try await task.sendPing()
      let heard = try await pongs.first(2)
      #expect(heard == ["pong 1", "pong 2"])
      // Three pings and a pong, in whatever order.
      let seen = try await frames.first(4)
      #expect(seen.contains { $0.first == 0x8A && $0.text == "are you there" })
      task.sendPing { pongs.record(($0 as? URLError)?.code == .cancelled ? "cancelled" : "?") }
      task.cancel()
      let last = try await pongs.first(3).last
      #expect(last == "cancelled")
      await #expect(throws: (any Error).self) { try await task.sendPing() }
    }
  }

  /// A receive whose Swift task is cancelled takes no message with it, and the connection stays.
  @Test func aCancelledReceiveLosesNothing() async throws {
    let gate = Gate()
    try await withPeer({ peer in
      try await peer.open()
      try await gate.wait()
      try await peer.send(WebSocketPeer.text("kept"))
      try await peer.echo()
    }) { server in
      let (session, _, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      let waiting = Task { try await task.receive() }
      waiting.cancel()
      let error = await #expect(throws: URLError.self) { _ = try await waiting.value }
      #expect(error?.code == .cancelled)
      gate.open()
      let kept = try await task.receive()
      #expect(kept.text == "kept")
      #expect(task.state == .running)
    }
  }

  /// A server that sends without end to an app that does not receive is slowed; nothing is lost.
  @Test func anAppThatDoesNotReceiveSlowsTheServer() async throws {
    let sent = Atomic<Int>(0)
    let count = 400
    try await withPeer({ peer in
      try await peer.open()
      let chunk = [UInt8](repeating: 0x61, count: 64 * 1024)
      for _ in 0..<count {
        try await peer.send(WebSocketPeer.frame(0x82, chunk))
        sent.add(1, ordering: .relaxed)
      }
      try await peer.echo()
    }) { server in
      let (session, _, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await task.send(.string("ready"))
      // The server stalls once the buffers of both kernels are full: far from having sent all of 25 MiB.
      var last = -1
      try await eventually("the server to stall", every: .milliseconds(100)) {
        defer { last = sent.load(ordering: .relaxed) }
        return last > 0 && last == sent.load(ordering: .relaxed)
      }
      #expect(sent.load(ordering: .relaxed) < count)
      for _ in 0..<count { #expect(try await task.receive().bytes?.count == 64 * 1024) }
      #expect(try await task.receive().text == "ready")
    }
  }

  /// Pongs travel between the fragments of a long message. When a ping arrives is the kernel's affair: long messages
  /// follow one another until a pong has come in the middle of one.
  @Test func aLongMessageDoesNotHoldUpAPong() async throws {
    let overtook = Gate()
    let sent = Recorder<Int>()
    try await withPeer({ peer in
      try await peer.open()
      var isInside = false
      while let frame = try await peer.frame(unmasked: false) {
        switch frame.first {
        case 0x02:
          isInside = true
          try await peer.send(WebSocketPeer.frame(0x89, [7]))
        case 0x80: isInside = false
        case 0x8A where isInside: overtook.open()
        case 0x88: return try await peer.send(WebSocketPeer.close(1000))
        default: break
        }
      }
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      while !overtook.isOpen, sent.all.count < 100 {
        try await task.send(.data(Data(count: 4 << 20)))
        sent.record(4 << 20)
      }
      #expect(overtook.isOpen)
      task.cancel(with: .normalClosure, reason: nil)
      try await delegate.done.wait(within: patience)
    }
  }

  /// The timeouts guard the handshake; an open connection may be silent.
  @Test func timeoutsApplyToTheHandshakeAlone() async throws {
    let gate = Gate()
    try await withPeer({ peer in
      if peer.path == "/silent" {
        while try await peer.connection.read() != nil {}
        return
      }
      try await peer.open()
      try await gate.wait()
      try await peer.send(WebSocketPeer.text("at last"))
      try await peer.echo()
    }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.timeoutIntervalForRequest = 8
      configuration.timeoutIntervalForResource = 8
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let open = session.webSocketTask(with: server.socketURL())
      open.resume()
      try await open.send(.string("x"))
      // Another task, which began later, runs into the timeouts while this one is silent.
      let silent = session.webSocketTask(with: server.socketURL("/silent"))
      silent.resume()
      let error = await #expect(throws: URLError.self) { _ = try await silent.receive() }
      #expect(error?.code == .timedOut)
      gate.open()
      #expect(try await open.receive().text == "at last")
    }
  }

  /// Code for Apple's systems gives the URL of the handshake, too.
  @Test(.overEveryVersion) func httpURLsOpenSockets() async throws {
    try await withPeer({ peer in
      try await peer.open()
      try await peer.echo()
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: URLRequest(url: server.url()))
      task.resume()
      try await task.send(.string("hi"))
      #expect(try await task.receive().text == "hi")
      #expect(task.originalRequest?.url == server.url())
    }
  }

  /// A ping on a connection that is closed fails as one whose connection is lost on the way.
  @Test(.overEveryVersion) func pingsAfterTheEndFailAsLost() async throws {
    try await withPeer({ peer in
      try await peer.open()
      try await peer.echo()
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await task.send(.string("x"))
      task.cancel(with: .normalClosure, reason: nil)
      let closing = await #expect(throws: URLError.self) { try await task.sendPing() }
      try await delegate.done.wait(within: patience)
      let closed = await #expect(throws: URLError.self) { try await task.sendPing() }
      #expect(closing?.code == .networkConnectionLost && closed?.code == .networkConnectionLost)
      await #expect(throws: POSIXError.self) { try await task.send(.string("late")) }
    }
  }

  @Test func otherSchemesOpenNoSocket() async throws {
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    for text in ["data:,x", "ftp://127.0.0.1/"] {
      let task = session.webSocketTask(with: try #require(URL(string: text)))
      task.resume()
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .unsupportedURL)
    }
    let url = try #require(URL(string: "ws://127.0.0.1/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .unsupportedURL)
  }

  @Test func closeCodesHaveTheirValues() {
    typealias Code = URLSessionWebSocketTask.CloseCode
    let named: [(Code, Int)] = [
      (.invalid, 0), (.normalClosure, 1000), (.goingAway, 1001), (.protocolError, 1002), (.unsupportedData, 1003),
      (.noStatusReceived, 1005), (.abnormalClosure, 1006), (.invalidFramePayloadData, 1007), (.policyViolation, 1008),
      (.messageTooBig, 1009), (.mandatoryExtensionMissing, 1010), (.internalServerError, 1011),
      (.tlsHandshakeFailure, 1015),
    ]
    for (code, value) in named {
      #expect(code.rawValue == value)
      #expect(Code(rawValue: value) == code)
    }
    #expect(Code(rawValue: 4999)?.rawValue == 4999)
    #expect(Code.other(1000) == .normalClosure)
    let task = URLSession.shared.webSocketTask(with: URL(fileURLWithPath: "/"))
    #expect(task.maximumMessageSize == 1_048_576)
    #expect(task.closeCode == .invalid)
    #expect(task.closeReason == nil)
  }
}
