import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A peer that breaks each rule of RFC 6455 in turn: what the app sees, and the code the peer is told.
@Suite struct WebSocketViolationTests {
  struct Fault: CustomTestStringConvertible, Sendable {
    let what: String
    let bytes: [UInt8]
    var error = URLError.Code.cannotParseResponse
    var code: UInt16 = 1002
    var extensions: [String] = []

    var testDescription: String { what }
  }

  private static let deflate = ["Sec-WebSocket-Extensions: permessage-deflate"]

  static let faults = [
    Fault(what: "a masked frame", bytes: [0x81, 0x82, 1, 2, 3, 4, 0x69, 0x6B]),
    Fault(what: "RSV1 without an extension", bytes: [0xC1, 0x01, 0x61]),
    Fault(what: "RSV2", bytes: [0xA1, 0x01, 0x61]),
    Fault(what: "RSV3", bytes: [0x91, 0x01, 0x61]),
    Fault(what: "RSV1 on a control frame", bytes: [0xC9, 0x00], extensions: deflate),
    Fault(what: "RSV1 on a continuation", bytes: [0x01, 0x01, 0x61, 0xC0, 0x01, 0x61], extensions: deflate),
    Fault(what: "a reserved data opcode", bytes: [0x83, 0x00]),
    Fault(what: "a reserved control opcode", bytes: [0x8B, 0x00]),
    Fault(what: "a fragmented control frame", bytes: [0x09, 0x01, 0x61]),
    Fault(what: "an oversized control frame", bytes: [0x89, 126, 0, 126] + [UInt8](repeating: 1, count: 126)),
    Fault(what: "a length of 16 bits that needs 7", bytes: [0x82, 126, 0, 5, 1, 2, 3, 4, 5]),
    Fault(what: "a length of 64 bits that needs 16", bytes: [0x82, 127, 0, 0, 0, 0, 0, 0, 1, 0]),
    Fault(what: "a negative length", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1]),
    Fault(what: "a continuation of nothing", bytes: [0x80, 0x01, 0x61]),
    Fault(what: "a message inside a message", bytes: [0x01, 0x01, 0x61, 0x81, 0x01, 0x61]),
    Fault(what: "a text that is no UTF-8", bytes: [0x81, 0x02, 0xC3, 0x28], code: 1007),
    Fault(what: "a text that ends inside a character", bytes: [0x81, 0x01, 0xC3], code: 1007),
    Fault(what: "a wrong byte in a fragment, before the rest", bytes: [0x01, 0x02, 0x61, 0xFF], code: 1007),
    Fault(what: "a close frame with half a code", bytes: [0x88, 0x01, 0x03]),
    Fault(what: "a close code nobody may send", bytes: WebSocketPeer.close(1006)),
    Fault(what: "a close code without a meaning", bytes: WebSocketPeer.close(2999)),
    Fault(what: "a close reason that is no UTF-8", bytes: [0x88, 0x03, 0x03, 0xE8, 0xFF], code: 1007),
    Fault(
      what: "a message beyond the limit", bytes: WebSocketPeer.frame(0x82, [UInt8](repeating: 1, count: 2001)),
      error: .dataLengthExceedsMaximum, code: 1009),
    Fault(
      what: "fragments beyond the limit",
      bytes: WebSocketPeer.frame(0x02, [UInt8](repeating: 1, count: 1500))
        + WebSocketPeer.frame(0x80, [UInt8](repeating: 1, count: 501)),
      error: .dataLengthExceedsMaximum, code: 1009),
    Fault(
      what: "a length nobody can hold", bytes: [0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255],
      error: .dataLengthExceedsMaximum, code: 1009),
    Fault(what: "what is not compressed", bytes: [0xC2, 0x02, 0xFF, 0xFF], code: 1007, extensions: deflate),
  ]

  @Test(.overEveryVersion, arguments: faults) func endsTheConnection(_ fault: Fault) async throws {
    let told = Recorder<UInt16?>()
    try await withPeer({ peer in
      try await peer.open(fault.extensions, then: WebSocketPeer.text("before") + fault.bytes)
      told.record(try await peer.closeCode())
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      task.maximumMessageSize = 2000
      // What came before the fault is not lost.
      #expect(try await task.receive().text == "before")
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == fault.error)
      #expect(try await told.next() == fault.code)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "failed \(fault.error.rawValue)"])
      #expect(task.closeCode.rawValue == Int(fault.code))
      #expect(task.error as? URLError == error)
    }
  }

  struct Refusal: CustomTestStringConvertible, Sendable {
    let what: String
    var answer: @Sendable (WebSocketPeer) -> [String]

    var testDescription: String { what }

    init(_ what: String, _ answer: @escaping @Sendable (WebSocketPeer) -> [String]) {
      (self.what, self.answer) = (what, answer)
    }
  }

  private static let switching = "HTTP/1.1 101 Switching Protocols"
  private static let upgrade = "Upgrade: websocket"
  private static let connection = "Connection: Upgrade"

  static let refusals = [
    Refusal("200 instead of 101") { _ in ["HTTP/1.1 200 OK", "Content-Length: 0"] },
    Refusal("404") { _ in ["HTTP/1.1 404 Not Found", "Content-Length: 0"] },
    Refusal("a wrong Accept") { _ in [switching, upgrade, connection, "Sec-WebSocket-Accept: AAAA"] },
    Refusal("no Accept") { _ in [switching, upgrade, connection] },
    Refusal("no Upgrade") { [switching, connection, "Sec-WebSocket-Accept: \($0.accept)"] },
    Refusal("another Upgrade") { [switching, "Upgrade: h2c", connection, "Sec-WebSocket-Accept: \($0.accept)"] },
    Refusal("no Connection") { [switching, upgrade, "Sec-WebSocket-Accept: \($0.accept)"] },
    Refusal("an extension nobody offered") {
      [switching, upgrade, connection, "Sec-WebSocket-Accept: \($0.accept)", "Sec-WebSocket-Extensions: x-own"]
    },
    Refusal("a parameter that does not exist") {
      [
        switching, upgrade, connection, "Sec-WebSocket-Accept: \($0.accept)",
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=99",
      ]
    },
    Refusal("a subprotocol nobody offered") {
      [switching, upgrade, connection, "Sec-WebSocket-Accept: \($0.accept)", "Sec-WebSocket-Protocol: other"]
    },
  ]

  @Test(arguments: refusals) func opensNothing(_ refusal: Refusal) async throws {
    try await withPeer({ peer in
      try await peer.send(Array((refusal.answer(peer).joined(separator: "\r\n") + "\r\n\r\n").utf8))
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL(), protocols: ["mine"])
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { try await task.send(.string("never")) }
      #expect(error?.code == .badServerResponse)
      #expect(error?.failingURL == server.socketURL())
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["failed \(URLError.Code.badServerResponse.rawValue)"])
      #expect(task.closeCode == .invalid)
      #expect(task.response?.url == server.socketURL())
    }
  }

  @Test(arguments: ["", "a b", "a,b", "ä", "a\r\nEvil: yes"])
  func aSubprotocolThatIsNoToken(_ name: String) async throws {
    try await withPeer({ try await $0.open() }) { server in
      let (session, delegate, task) = openSocket(server.socketURL(), protocols: ["chat", name])
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .badURL)
      try await delegate.done.wait(within: patience)
      #expect(server.connectionCount == 0)
    }
  }

  @Test(arguments: ["", "HTTP/1.1 101 Switching"]) func anEndInsideTheHandshake(_ bytes: String) async throws {
    try await withPeer({ try await $0.send(Array(bytes.utf8)) }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .networkConnectionLost)
      try await delegate.done.wait(within: patience)
    }
  }

  @Test(.overEveryVersion, arguments: [[], [0x81], [0x81, 0x05, 0x61], [0x01, 0x01, 0x61]] as [[UInt8]])
  func anEndWithoutACloseFrame(_ bytes: [UInt8]) async throws {
    try await withPeer({ try await $0.open(then: bytes) }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .networkConnectionLost)
      try await delegate.done.wait(within: patience)
      #expect(task.closeCode == .abnormalClosure)
      #expect(delegate.events.all.last == "failed \(URLError.Code.networkConnectionLost.rawValue)")
    }
  }
}
