import HTTPSemantics
import Testing

@Suite struct ConnectionPersistenceTests {
  @Test(
    arguments: [
      (HTTPVersion.http11, [:], true),
      (.http11, ["Connection": "close"], false),
      (.http11, ["connection": "TE, Close"], false),
      (.http11, ["Connection": "keep-alive"], true),
      (.http11, ["Connection": "keep-alive", "connection": "close"], false),
      (.http11, ["Connection": "closed"], true),
      (HTTPVersion(major: 1, minor: 2), [:], true),
      (.http10, [:], false),
      (.http10, ["Connection": "Keep-Alive"], true),
      (.http10, ["Connection": "keep-alive, close"], false),
      // RFC 9112 §6.1
      (.http10, ["Connection": "keep-alive", "Transfer-Encoding": "chunked"], false),
    ] as [(HTTPVersion, HTTPFields, Bool)])
  func persistenceFollowsVersionAndFields(version: HTTPVersion, fields: HTTPFields, keeps: Bool) {
    #expect(ResponseFraming.keepsAlive(head: HTTPResponseHead(version: version, status: 200, fields: fields)) == keeps)
  }

  @Test(arguments: [
    (ResponseFraming.none, true), (.length(0), true), (.length(7), true), (.chunked, true), (.untilClose, false),
  ])
  func reuseFollowsTheFraming(framing: ResponseFraming, allowed: Bool) {
    #expect(framing.allowsReuse == allowed)
  }

  @Test(
    arguments: [
      ("timeout=5, max=100", 5, 100), ("timeout=5", 5, nil), ("max=3", nil, 3), ("Timeout = \"15\"", 15, nil),
      ("timeout=5;max=2", 5, 2), ("", nil, nil), ("timeout", nil, nil), ("timeout=soon", nil, nil),
      ("timeout=-1", nil, nil), ("timeout=5, timeout=9", 5, nil), ("timeout=99999999999999999999", nil, nil),
    ] as [(String, Int64?, Int64?)])
  func keepAliveParametersAreParsed(_ value: String, timeout: Int64?, max: Int64?) {
    #expect(KeepAliveHint(parsing: value) == KeepAliveHint(timeout: timeout, max: max))
  }

  @Test func missingKeepAliveGivesNothing() {
    #expect(KeepAliveHint(head: HTTPResponseHead(status: 200)) == nil)
    #expect(KeepAliveHint(head: HTTPResponseHead(status: 200, fields: ["keep-alive": "timeout=1"]))?.timeout == 1)
  }
}
