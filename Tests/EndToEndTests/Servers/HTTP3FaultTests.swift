import Foundation
import HTTPTransport
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// HTTP/3 with a server that answers well or badly, as it is asked.
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && PythonHTTP3.server.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3FaultTests {
  private func withServer(
    retry: Bool = false, isSilent: Bool = false, configure: (URLSessionConfiguration) -> Void = { _ in },
    _ body: (RealServer, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await PythonHTTP3.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), retry: retry,
      isSilent: isSilent)
    try await HTTP3Support.withSession(
      trusting: identity.authorityFile, ports: [server.port], configure: configure
    ) { session, log in
      try await body(server, session, log)
    } finally: {
      await server.stop()
    }
  }

  private func request(_ server: RealServer, _ path: String) throws -> URLRequest {
    HTTP3Support.request(try #require(URL(string: "https://localhost:\(server.port)\(path)")))
  }

  private func text(_ session: URLSession, _ request: URLRequest) async throws -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func expect(
    _ expected: String, from session: URLSession, _ request: URLRequest, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let found = try await text(session, request)
    #expect(found == expected, sourceLocation: location)
  }

  @Test func aServerWithoutTCPIsReached() async throws {
    try await withServer { server, session, log in
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
      #expect(log.protocols == ["h3"])
    }
  }

  @Test func aServerThatValidatesAddressesIsReached() async throws {
    try await withServer(retry: true) { server, session, log in
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
      #expect(log.protocols == ["h3"])
    }
  }

  /// RFC 9114 §6.2.1: a server begins with SETTINGS.
  @Test func aServerThatDoesNotBeginIsGivenUp() async throws {
    try await withServer(isSilent: true) {
      $0.settingsPatience = .milliseconds(300)
    } _: { server, session, log in
      var request = try request(server, "/hello")
      request.httpMethod = "POST"
      request.timeoutInterval = 3_600
      let error = await #expect(throws: URLError.self) { try await text(session, request) }
      #expect(error?.code == .timedOut)
      #expect(log.protocols == ["h3"])
    }
  }

  @Test func fieldsArriveAsTheyWereSet() async throws {
    try await withServer { server, session, _ in
      var request = try request(server, "/fields?q=1")
      request.setValue("a=1; b=2", forHTTPHeaderField: "Cookie")
      request.setValue("value", forHTTPHeaderField: "X-Own")
      let lines = try await text(session, request).split(separator: "\n").map { String($0) }
      #expect(lines.contains(":method: GET") && lines.contains(":path: /fields?q=1"))
      #expect(lines.contains(":scheme: https") && lines.contains(":authority: localhost:\(server.port)"))
      #expect(lines.contains("x-own: value"))
      // RFC 9114 §4.2.1: crumbs.
      #expect(lines.contains("cookie: a=1") && lines.contains("cookie: b=2"))
    }
  }

  @Test func interimResponsesAndTrailersAreNoBodies() async throws {
    try await withServer { server, session, _ in
      try await expect("final", from: session, request(server, "/interim"))
      try await expect("body", from: session, request(server, "/trailers"))
    }
  }

  @Test func aBodyIsEchoed() async throws {
    try await withServer { server, session, _ in
      var request = try request(server, "/echo")
      request.httpMethod = "POST"
      let body = BytePattern(seed: 3).bytes(count: 3 << 20)
      let (answer, _) = try await session.upload(for: request, from: Data(body))
      #expect(answer.count == body.count && BytePattern(seed: 3).matches(answer))
      // Without a length.
      request.httpBodyStream = InputStream(data: Data(body))
      let (streamed, _) = try await session.data(for: request)
      #expect(streamed.count == body.count && BytePattern(seed: 3).matches(streamed))
    }
  }

  /// RFC 9114 §4.1.1: what was not processed is sent again, whatever its method.
  @Test func aRejectedRequestIsSentAgain() async throws {
    try await withServer { server, session, _ in
      var request = try request(server, "/reject-once/1")
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      try await expect("hello over QUIC", from: session, request)
    }
  }

  /// RFC 9114 §5.2: the answer still comes, and the next request takes another connection.
  @Test func aServerThatGoesAwayLosesNothing() async throws {
    try await withServer { server, session, log in
      try await expect("the last", from: session, request(server, "/goaway"))
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
      #expect(log.protocols == ["h3"])
      #expect(Set(log.all.compactMap(\.localPort)).count == 2)
    }
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let path: String
    let code: URLError.Code
    var testDescription: String { path }

    static let all = [
      Fault(path: "/reset/102", code: .networkConnectionLost),
      Fault(path: "/close/102", code: .networkConnectionLost),
      Fault(path: "/short", code: .networkConnectionLost),
      Fault(path: "/long", code: .cannotParseResponse),
      Fault(path: "/upper", code: .cannotParseResponse),
      Fault(path: "/no-status", code: .cannotParseResponse),
      Fault(path: "/frame", code: .cannotParseResponse),
      Fault(path: "/half-frame", code: .cannotParseResponse),
      Fault(path: "/no-response", code: .cannotParseResponse),
      Fault(path: "/data-first", code: .cannotParseResponse),
      Fault(path: "/push", code: .cannotParseResponse),
      Fault(path: "/close-control", code: .cannotParseResponse),
      Fault(path: "/settings-twice", code: .cannotParseResponse),
      Fault(path: "/bad-encoder", code: .cannotParseResponse),
      Fault(path: "/bad-decoder", code: .cannotParseResponse),
      Fault(path: "/server-stream", code: .cannotParseResponse),
      Fault(path: "/over-limit", code: .cannotParseResponse),
      Fault(path: "/forgotten", code: .networkConnectionLost),
      Fault(path: "/endless-head", code: .dataLengthExceedsMaximum),
      Fault(path: "/interim-flood", code: .dataLengthExceedsMaximum),
      Fault(path: "/large-head", code: .dataLengthExceedsMaximum),
    ]
  }

  /// A message that contradicts itself is an error, and the next request is served.
  @Test(arguments: Fault.all) func aFaultIsAnErrorAndTheNextRequestIsServed(_ fault: Fault) async throws {
    try await withServer { server, session, _ in
      let failure = await #expect(throws: URLError.self) {
        try await session.data(for: request(server, fault.path))
      }
      #expect(failure?.code == fault.code)
      #expect(failure?.localizedDescription.isEmpty == false)
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
    }
  }

  /// A byte of the head stands for 4 KB: it is refused before it is whole. Its server counts on another table behind that.
  @Test func aFieldThatIsRepeatedEndlesslyIsRefused() async throws {
    try await withServer { server, session, _ in
      let failure = await #expect(throws: URLError.self) {
        try await session.data(for: request(server, "/qpack-bomb"))
      }
      #expect(failure?.code == .dataLengthExceedsMaximum)
    }
  }

  /// RFC 9114 §9: what is unknown is passed over.
  @Test func unknownFramesAndStreamsDoNoHarm() async throws {
    try await withServer { server, session, log in
      try await expect("greased", from: session, request(server, "/grease"))
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
      #expect(Set(log.all.compactMap(\.localPort)).count == 1)
    }
  }

  /// A field whose name is none is passed over.
  @Test func aNameThatIsNoneIsPassedOver() async throws {
    try await withServer { server, session, _ in
      let (_, response) = try await session.data(for: request(server, "/foreign-name"))
      #expect((response as? HTTPURLResponse)?.allHeaderFields.isEmpty == true)
    }
  }

  /// RFC 9114 §5.2: requests that the server did not act upon are sent again, whatever their method; the others are answered.
  @Test func requestsUnderWaySurviveAServerThatGoesAway() async throws {
    try await withServer { server, session, log in
      let requests = try (0..<8).map { number in
        var request = try request(server, "/held/\(number)")
        request.httpMethod = "POST"
        return request
      }
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for request in requests { group.addTask { try await text(session, request) } }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }
      #expect(answers.sorted() == (0..<8).map { "\($0)" })
      #expect(log.protocols == ["h3"] && Set(log.all.compactMap(\.localPort)).count == 2)
    }
  }

  /// A server that says nothing costs the time limit of the request, and no other request.
  @Test func aSilentStreamIsATimeOut() async throws {
    try await withServer { server, session, log in
      var silent = try request(server, "/silent")
      silent.timeoutInterval = 0.5
      let failure = await #expect(throws: URLError.self) { try await session.data(for: silent) }
      #expect(failure?.code == .timedOut)
      try await expect("hello over QUIC", from: session, request(server, "/hello"))
    }
  }

  /// The window of a stream follows its reader: what nothing reads is not sent.
  @Test func aSlowReaderHoldsTheServerBack() async throws {
    try await withServer { server, session, _ in
      let size = 32 << 20
      let (bytes, _) = try await session.bytes(for: request(server, "/numbers/\(size)"))
      var iterator = bytes.makeAsyncIterator()
      let first = try await iterator.next()
      #expect(first == 0)
      let progress = try request(server, "/progress")
      var numbers: [Int] = []
      try await eventually("the server to be held back") {
        numbers = try await text(session, progress).split(separator: " ").compactMap { Int($0) }
        return numbers.count == 2 && numbers[0] == numbers[1]
      }
      // A busy reader may have taken a little more by then, and the window has followed it.
      for _ in 0..<5 {
        #expect(numbers.allSatisfy { $0 <= 4 << 20 }, "\(numbers)")
        numbers = try await text(session, progress).split(separator: " ").compactMap { Int($0) }
      }
      var count = 1
      while try await iterator.next() != nil { count += 1 }
      #expect(count == size)
    }
  }

  @Test func aServerThatEndsIsAnError() async throws {
    try await withServer { server, session, _ in
      _ = try await text(session, request(server, "/hello"))
      await server.stop()
      await #expect(throws: URLError.self) { try await session.data(for: request(server, "/hello")) }
    }
  }
}
