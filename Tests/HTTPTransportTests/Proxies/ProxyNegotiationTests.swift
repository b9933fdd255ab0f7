import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

/// What is said to proxies, byte by byte, and how their answers are read in whatever pieces they come.
@Suite struct ProxyNegotiationTests {
  /// Plays the proxy: `answers[n]` is what it says after our n-th message, one byte at a time. Returns our messages.
  private func run(_ negotiation: any ProxyNegotiation, _ answers: [[UInt8]]) throws -> (sent: [[UInt8]], rest: Int) {
    var negotiation = negotiation
    var sent: [[UInt8]] = []
    if case .send(let bytes) = try negotiation.begin() { sent = [Array(bytes.readableBytesView)] }
    var input = ByteBuffer()
    for answer in answers {
      for (index, byte) in answer.enumerated() {
        input.writeInteger(byte)
        switch try negotiation.advance(&input) {
        case .needsMore: break
        case .send(let bytes), .sendSecret(let bytes): sent.append(Array(bytes.readableBytesView))
        case .ask: throw Unfinished()
        case .done: return (sent, input.readableBytes + answer.count - index - 1)
        }
      }
    }
    throw Unfinished()
  }

  private struct Unfinished: Error {}

  private func failure(_ negotiation: any ProxyNegotiation, _ answers: [[UInt8]]) -> ProxyFailure.Cause? {
    do {
      _ = try run(negotiation, answers)
      return nil
    } catch { return (error as? ProxyFailure)?.cause }
  }

  private func kind(_ cause: ProxyFailure.Cause?) -> String {
    switch cause {
    case .authenticationRequired: "authenticationRequired"
    case .malformed: "malformed"
    case .unsuitable: "unsuitable"
    case .socksReply(let version, let code): "socksReply \(version) \(code)"
    case .status(let head): "status \(head.status)"
    case .none: "none"
    default: "another"
    }
  }

  private func server(_ url: String) throws -> ProxyServer { try #require(ProxyServer(url: url)) }

  // MARK: SOCKS 5

  @Test(
    arguments: [
      ("a.example", [3, 9] + Array("a.example".utf8)), ("192.0.2.1", [1, 192, 0, 2, 1]),
      ("2001:db8::1", [4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    ] as [(String, [UInt8])])
  func socks5HandsNamesOver(host: String, address: [UInt8]) throws {
    let negotiation = SOCKS5Negotiation(try server("socks5://p"), host: host, port: 443)
    let (sent, rest) = try run(negotiation, [[5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 99]])
    #expect(sent == [[5, 1, 0], [5, 1, 0] + address + [1, 0xbb]])
    #expect(rest == 1)
  }

  @Test func socks5ShowsItsNameWhenAsked() throws {
    let negotiation = SOCKS5Negotiation(try server("socks5://me:secret@p"), host: "h", port: 80)
    let (sent, _) = try run(negotiation, [[5, 2], [1, 0], [5, 0, 0, 3, 2, 97, 98, 0, 0]])
    #expect(sent[0] == [5, 2, 0, 2])
    #expect(sent[1] == [1, 2] + Array("me".utf8) + [6] + Array("secret".utf8))
    #expect(sent[2] == [5, 1, 0, 3, 1] + Array("h".utf8) + [0, 80])
    let (unasked, _) = try run(negotiation, [[5, 0], [5, 0, 0, 4] + Array(repeating: 0, count: 18)])
    #expect(unasked.count == 2)
  }

  /// Bytes behind the reply are the server's first: one more or less of the reply itself would go to the app, or lack.
  @Test(
    arguments: [
      [1, 192, 0, 2, 1], [3, 9] + Array("a.example".utf8), [3, 0], [3, 255] + Array(repeating: 97, count: 255),
      [4] + Array(repeating: 7, count: 16),
    ] as [[UInt8]])
  func socks5ConsumesExactlyTheReply(address: [UInt8]) throws {
    let negotiation = SOCKS5Negotiation(try server("socks5://p"), host: "h", port: 80)
    let (_, none) = try run(negotiation, [[5, 0], [5, 0, 0] + address + [0, 80]])
    let (_, three) = try run(negotiation, [[5, 0], [5, 0, 0] + address + [0, 80, 1, 2, 3]])
    #expect(none == 0 && three == 3)
  }

  @Test func socks5Failures() throws {
    let plain = SOCKS5Negotiation(try server("socks5://p"), host: "h", port: 80)
    let named = SOCKS5Negotiation(try server("socks5://me:x@p"), host: "h", port: 80)
    #expect(kind(failure(plain, [[5, 0xff]])) == "authenticationRequired", "no method")
    #expect(kind(failure(plain, [[5, 2]])) == "authenticationRequired", "a name is demanded")
    #expect(kind(failure(named, [[5, 2], [1, 1]])) == "authenticationRequired", "refused")
    #expect(kind(failure(plain, [[4, 90]])) == "malformed", "another version")
    #expect(kind(failure(plain, [Array("HTTP/1.1 400".utf8)])) == "malformed", "HTTP")
    #expect(kind(failure(plain, [[5, 0], [5, 0, 0, 9, 0]])) == "malformed", "address kind")
    for code in UInt8(1)...9 {
      #expect(kind(failure(plain, [[5, 0], [5, code]])) == "socksReply 5 \(code)")
    }
    let long = SOCKS5Negotiation(
      try server("socks5://p"), host: String(repeating: "a", count: 256), port: 80)
    #expect(kind(failure(long, [[5, 0]])) == "unsuitable", "a name too long")
  }

  // MARK: SOCKS 4

  @Test func socks4AndSocks4a() throws {
    let granted: [UInt8] = [0, 90, 0, 0, 0, 0, 0, 0]
    let withName = SOCKS4Negotiation(try server("socks4a://me@p"), host: "a.example", port: 80, address: nil)
    #expect(
      try run(withName, [granted]).sent
        == [[4, 1, 0, 80, 0, 0, 0, 1] + Array("me".utf8) + [0] + Array("a.example".utf8) + [0]])
    let resolved = SOCKS4Negotiation(try server("socks4://p"), host: "a.example", port: 80, address: [192, 0, 2, 7])
    #expect(try run(resolved, [granted]).sent == [[4, 1, 0, 80, 192, 0, 2, 7, 0]])
    let literal = SOCKS4Negotiation(try server("socks4a://p"), host: "192.0.2.9", port: 80, address: nil)
    #expect(try run(literal, [granted]).sent == [[4, 1, 0, 80, 192, 0, 2, 9, 0]])
    #expect(
      kind(
        failure(
          SOCKS4Negotiation(try server("socks4a://p"), host: "::1", port: 80, address: nil), [granted]))
        == "unsuitable", "IPv6")
    #expect(kind(failure(literal, [[0, 91, 0, 0, 0, 0, 0, 0]])) == "socksReply 4 91")
    #expect(kind(failure(literal, [[5, 0]])) == "malformed", "another version")
  }

  // MARK: CONNECT

  private func connect(
    _ url: String, host: String = "a.example", _ authorization: ProxyAuthorization? = nil
  ) throws -> ConnectNegotiation {
    ConnectNegotiation(ProxyHop(try server(url), use: .tunnel, authorization: authorization), host: host, port: 443)
  }

  @Test func connectNamesTheServerAndShowsTheCredential() throws {
    let (sent, rest) = try run(
      try connect("http://me:secret@p", .field("Basic bWU6c2VjcmV0")),
      [Array("HTTP/1.0 200 Connection established\r\nContent-Length: 5\r\n\r\nx".utf8)])
    let text = String(decoding: sent[0], as: UTF8.self)
    #expect(text.hasPrefix("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"))
    #expect(text.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"))
    #expect(rest == 1)
    let literal = try run(try connect("http://p", host: "::1"), [Array("HTTP/1.1 204 No\r\n\r\n".utf8)])
    #expect(String(decoding: literal.sent[0], as: UTF8.self).hasPrefix("CONNECT [::1]:443 HTTP/1.1\r\n"))
  }

  @Test func connectFailures() throws {
    let negotiation = try connect("http://p")
    #expect(kind(failure(negotiation, [Array("HTTP/1.1 502 Bad\r\n\r\n".utf8)])) == "status 502")
    #expect(kind(failure(negotiation, [Array("HTTP/1.1 407 No\r\n\r\n".utf8)])) == "authenticationRequired")
    #expect(kind(failure(negotiation, [Array("SSH-2.0-x\r\n\r\n".utf8)])) == "malformed", "SSH")
    #expect(try run(negotiation, [Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".utf8)]).rest == 0)
  }

  @Test func settingsAreNotShownUnasked() throws {
    let (sent, _) = try run(try connect("http://me:secret@p"), [Array("HTTP/1.1 200 OK\r\n\r\n".utf8)])
    #expect(!String(decoding: sent[0], as: UTF8.self).contains("Proxy-Authorization"))
  }

  /// A credential that answers each 407 with the next of its values.
  private final class Values: TunnelCredential {
    let isOfConnection = false
    private let values: [String?]
    init(_ values: [String?]) { self.values = values }
    func makeConversation() -> any TunnelConversation { Conversation(values: values) }

    private struct Conversation: TunnelConversation {
      let values: [String?]

      func value(for target: String, after head: HTTPResponseHead?) async -> String? {
        // A proxy says in its challenge which message it answers.
        let number = head.map { Int($0.fields["Proxy-Authenticate"]?.split(separator: " ").last ?? "") ?? 0 } ?? 0
        return number < values.count ? values[number] : nil
      }
    }
  }

  /// Plays a proxy that asks again. Returns the values of Proxy-Authorization that it is sent.
  private func converse(_ values: [String?], _ answers: [String]) async throws -> [String?] {
    var negotiation = try connect("http://p", .credential(Values(values)))
    var seen: [String?] = []
    var input = ByteBuffer()
    var rest = answers[...]
    var step = try negotiation.begin()
    while true {
      switch step {
      case .ask(let question):
        let head = String(buffer: try negotiation.answered(await question()))
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
        seen.append(line.map { String($0.dropFirst(21)) })
        let next = rest.popFirst()
        input.writeString(try #require(next))
        step = .needsMore
      case .needsMore:
        let before = input.readableBytes
        step = try negotiation.advance(&input)
        if case .needsMore = step, input.readableBytes == before { throw Unfinished() }
      case .send, .sendSecret: throw Unfinished()
      case .done: return seen
      }
    }
  }

  private static func refusal(_ number: Int, _ fields: String = "Content-Length: 4\r\n\r\nwho?") -> String {
    "HTTP/1.1 407 No\r\nProxy-Authenticate: Step \(number)\r\n" + fields
  }
  private static let opened = "HTTP/1.1 200 OK\r\n\r\n"

  /// Schemes that authenticate a connection need all their messages on it.
  @Test func theProxyIsAnsweredOnTheSameConnection() async throws {
    let seen = try await converse([nil, "one", "two"], [Self.refusal(1), Self.refusal(2), Self.opened])
    #expect(seen == [nil, "one", "two"])
    let chunked = Self.refusal(1, "Transfer-Encoding: chunked\r\n\r\n4\r\nwho?\r\n0\r\n\r\n")
    let chunkedSeen = try await converse(["zero", "one"], [chunked, Self.opened])
    #expect(chunkedSeen == ["zero", "one"])
  }

  @Test(arguments: [
    // The proxy closes.
    [ProxyNegotiationTests.refusal(1, "Content-Length: 0\r\nConnection: close\r\n\r\n")],
    [ProxyNegotiationTests.refusal(1, "Content-Length: 0\r\nProxy-Connection: close\r\n\r\n")],
    [ProxyNegotiationTests.refusal(1, "\r\n")],
    // There is no further answer.
    [ProxyNegotiationTests.refusal(7)],
    // It never has enough.
    Array(repeating: ProxyNegotiationTests.refusal(1), count: 20),
    // Its answer has no end.
    [ProxyNegotiationTests.refusal(1, "Content-Length: 9999999\r\n\r\n" + String(repeating: "x", count: 300_000))],
  ])
  func aRefusalThatCannotBeAnsweredHereEndsTheNegotiation(answers: [String]) async throws {
    let failure = await #expect(throws: ProxyFailure.self) { _ = try await converse([nil, "one"], answers) }
    #expect(kind(failure?.cause) == "authenticationRequired")
  }
}
