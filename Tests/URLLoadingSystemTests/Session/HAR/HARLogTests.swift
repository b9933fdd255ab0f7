import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import Testing
import URLLoadingSystem

@Suite struct HARLogTests {
  /// The fields that HAR 1.2 requires of each of its objects, and their kinds.
  private static let required: [String: [String: String]] = [
    "log": ["version": "string", "creator": "object", "entries": "array"],
    "log.creator": ["name": "string", "version": "string"],
    "entry": [
      "startedDateTime": "string", "time": "number", "request": "object", "response": "object", "cache": "object",
      "timings": "object",
    ],
    "entry.request": [
      "method": "string", "url": "string", "httpVersion": "string", "cookies": "array", "headers": "array",
      "queryString": "array", "headersSize": "number", "bodySize": "number",
    ],
    "entry.response": [
      "status": "number", "statusText": "string", "httpVersion": "string", "cookies": "array", "headers": "array",
      "content": "object", "redirectURL": "string", "headersSize": "number", "bodySize": "number",
    ],
    "entry.response.content": ["size": "number", "mimeType": "string"],
    "entry.timings": ["send": "number", "wait": "number", "receive": "number"],
  ]

  private func check(_ object: [String: Any], as path: String) {
    for (name, kind) in HARLogTests.required[path] ?? [:] {
      let value = object[name]
      let isRight =
        switch kind {
        case "string": value is String
        case "number": value is NSNumber
        case "array": value is [Any]
        default: value is [String: Any]
        }
      #expect(isRight, "\(path).\(name) must be a \(kind), and is \(String(describing: value))")
      if let inner = value as? [String: Any] { check(inner, as: "\(path).\(name)") }
      for pair in value as? [[String: Any]] ?? [] where path != "log" {
        #expect(pair["name"] is String && pair["value"] is String, "\(path).\(name)")
      }
    }
  }

  private func log(of metrics: URLSessionTaskMetrics, _ credentials: HARLog.Credentials = .redacted) -> HARLog {
    var log = HARLog()
    log.append(metrics, credentials: credentials)
    return log
  }

  @Test func theDocumentHasWhatTheFormatRequires() async throws {
    try await withServer({ request in
      request.path == "/a" ? .redirect(to: "/b?x=%C3%A4&y&x=1%2B1") : .ok("hello", type: "text/plain; charset=utf-8")
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      var log = log(of: try await MetricsTests.metrics(URLRequest(url: server.url("/a")), in: session))
      let url = try #require(URL(string: "http://no-such-host.invalid/"))
      log.append(try await MetricsTests.metrics(URLRequest(url: url), in: session))
      log.append(try await MetricsTests.metrics(URLRequest(url: try textURL("text")), in: session))
      let data = try log.encoded()
      #expect(try HARLog(decoding: data) == log)
      let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      #expect(Array(document.keys) == ["log"])
      let content = try #require(document["log"] as? [String: Any])
      check(content, as: "log")
      #expect(content["version"] as? String == "1.2")
      let entries = try #require(content["entries"] as? [[String: Any]])
      #expect(entries.count == 4)
      for entry in entries { check(entry, as: "entry") }
    }
  }

  @Test func anEntrySaysWhatHappened() async throws {
    try await withServer({ request in
      request.path == "/a" ? .redirect(to: "/b?x=%C3%A4&y&x=1%2B1") : .chunked(["hel", "lo"])
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url("/a")), in: session)
      let log = log(of: metrics)
      let first = try #require(log.entries.first), last = try #require(log.entries.last)
      #expect(first.response.status == 302 && first.response.redirectURL == "/b?x=%C3%A4&y&x=1%2B1")
      #expect(last.response.redirectURL.isEmpty && last.response.statusText == "OK")
      #expect(last.request.queryString.map(\.name) == ["x", "y", "x"])
      #expect(last.request.queryString.map(\.value) == ["ä", "", "1+1"])
      #expect(last.request.headers.first?.name == "Host")
      #expect(last.request.headers.contains { $0.name == "User-Agent" }, "what was sent, not what the app wrote")
      #expect(last.request.httpVersion == "HTTP/1.1" && last.response.httpVersion == "HTTP/1.1")
      #expect(last.response.content.size == 5 && last.response.bodySize == 20)
      #expect(last.response.content.mimeType == "text/plain")
      #expect(last.serverIPAddress == "127.0.0.1")
      #expect(last.connection != nil && last.connection == first.connection)
      #expect(first.timings.connect >= 0 && first.timings.ssl == -1)
      #expect(last.timings.connect == -1 && last.timings.dns == -1)
      let started = try Date(last.startedDateTime, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      let start = try #require(metrics.transactionMetrics.last?.fetchStartDate)
      #expect(abs(started.timeIntervalSince(start)) < 0.0011)
      #expect(log.entries.map(\.startedDateTime) == log.entries.map(\.startedDateTime).sorted())
    }
  }

  @Test func aLoadWithoutAResponseHasStatusZero() async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "http://no-such-host.invalid/"))
    let log = log(of: try await MetricsTests.metrics(URLRequest(url: url), in: session))
    let entry = try #require(log.entries.first)
    #expect(entry.response.status == 0 && entry.response.headersSize == -1 && entry.response.bodySize == -1)
    #expect(entry.request.headersSize == -1 && entry.serverIPAddress == nil)
    #expect(entry.comment != nil)
  }

  @Test(arguments: [HARLog.Credentials.redacted, .included])
  func credentialsAreLeftOutUnlessAskedFor(_ credentials: HARLog.Credentials) async throws {
    let secret = "s3cret"
    try await withServer({ _ in
      .ok("", fields: [("Set-Cookie", "id=\(secret); Path=/; Max-Age=60; Secure; HttpOnly")])
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      var components = try #require(URLComponents(url: server.url(), resolvingAgainstBaseURL: true))
      components.user = "me"
      components.password = secret
      var request = URLRequest(url: try #require(components.url))
      for name in ["Authorization", "proxy-authorization", "Cookie"] {
        request.setValue("a=\(secret)", forHTTPHeaderField: name)
      }
      let log = log(of: try await MetricsTests.metrics(request, in: session), credentials)
      let text = String(decoding: try log.encoded(), as: UTF8.self)
      #expect(text.contains(secret) == (credentials == .included))
      let entry = try #require(log.entries.first)
      #expect(entry.request.cookies.map(\.name) == ["a"])
      let cookie = try #require(entry.response.cookies.first)
      #expect(cookie.name == "id" && cookie.path == "/" && cookie.secure == true && cookie.httpOnly == true)
      #expect(cookie.expires != nil)
    }
  }

  /// A server that redirects to a URL with a name and a password.
  @Test(arguments: [HARLog.Credentials.redacted, .included])
  func namesAndPasswordsOfRedirectsAreTakenOut(_ credentials: HARLog.Credentials) async throws {
    try await withServer({ request in
      guard request.path == "/a" else { return .ok("in") }
      return .redirect(to: "http://me:s3cret@\(request.value("Host") ?? "")/b")
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let log = log(of: try await MetricsTests.metrics(URLRequest(url: server.url("/a")), in: session), credentials)
      let text = String(decoding: try log.encoded(), as: UTF8.self)
      #expect(text.contains("s3cret") == (credentials == .included))
      let target = try #require(log.entries.first?.response.redirectURL)
      #expect(target.hasSuffix("127.0.0.1:\(server.port)/b") || target.hasSuffix("localhost:\(server.port)/b"))
    }
  }

  /// All phases add up, and TLS is part of connecting.
  @Test func timingsAddUp() throws {
    let url = try #require(URL(string: "https://example.com/"))
    let start = NIODeadline.now()
    func at(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }
    let record = TransactionRecord(request: URLRequest(url: url), fetchType: .networkLoad, fetchStart: start)
    var connection = ConnectionRecord()
    connection.domainLookupStart = at(1)
    connection.domainLookupEnd = at(3)
    connection.connectStart = at(3)
    connection.secureConnectionStart = at(10)
    connection.secureConnectionEnd = at(30)
    connection.connectEnd = at(31)
    var exchange = ExchangeRecord(connection: connection, isReusedConnection: false)
    exchange.requestStart = at(32)
    exchange.requestEnd = at(35)
    exchange.responseStart = at(100)
    exchange.responseEnd = at(150)
    record.exchange = exchange
    let entry = HARLog.Entry(URLSessionTaskTransactionMetrics(record))
    let expected = HARLog.Timings(blocked: 2, dns: 2, connect: 28, ssl: 20, send: 3, wait: 65, receive: 50)
    for (found, wanted) in [
      (entry.timings.blocked, expected.blocked), (entry.timings.dns, expected.dns),
      (entry.timings.connect, expected.connect), (entry.timings.ssl, expected.ssl),
      (entry.timings.send, expected.send), (entry.timings.wait, expected.wait),
      (entry.timings.receive, expected.receive), (entry.time, 150),
    ] { #expect(abs(found - wanted) < 0.01) }
    #expect(abs(entry.time - entry.timings.total) < 0.001)
  }

  @Test func garbageIsNoLog() {
    let deep = String(repeating: "[", count: 513)
    for text in ["", "{}", "[]", #"{"log":{}}"#, deep, #"{"log":"# + deep.dropLast()] {
      #expect(throws: DecodingError.self) { try HARLog(decoding: Data(text.utf8)) }
    }
  }
}
