import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Behaviour that the public suite for HTTP caches looks at from outside, where it depends on more than the rules: what is
/// replayed, updated, combined and removed by a session.
@Suite(.overHTTP1To3) struct CacheScenarioTests {
  typealias Step = CacheScenario.Step

  private static let fresh = "Expires: @100000\nCache-Control: max-age=100000\nLast-Modified: @0\nDate: @0"
  /// Stale at once, and confirmed by its tag.
  private static let stale = "Date: @-60\nCache-Control: max-age=10\nETag: \"a\""

  // MARK: Fields

  private static let stored: [(String, String)] = [
    ("Test-Header", "a"), ("X-Test-Header", "b"), ("Content-Foo", "c"), ("Content-Encoding", "unknown-coding"),
    ("Content-Location", "/bar"), ("Content-MD5", "N7UdGUp1E+RbVvZSTy1R8g=="), ("Content-Range", "something"),
    ("Content-Security-Policy", "default-src 'self'"), ("Content-Type", "text/plain;charset=utf-8"),
    ("Clear-Site-Data", "cookies"), ("ETag", "\"ghijkl\""), ("Expires", "Mon, 11 Jan 2038 11:11:11 GMT"),
    ("Public-Key-Pins", "d"), ("Set-Cookie", "a=c"), ("Set-Cookie2", "a=c"), ("X-Frame-Options", "sameorigin"),
    ("X-XSS-Protection", "1; mode=block"), ("Proxy-Authenticate", "e"), ("Proxy-Authentication-Info", "f"),
  ]

  private static let replayed: [CacheScenario] = stored.map { name, value in
    CacheScenario(
      name: "\(name) is replayed",
      steps: [
        Step(reply: "Cache-Control: max-age=3600\nDate: @0\n\(name): \(value)", expectation: .fetched),
        Step(expectation: .cached, expectedFields: name.hasPrefix("Proxy-") ? "" : "\(name): \(value)"),
      ])
  }

  private static let ofOneConnection = [
    "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade", "Proxy-Authorization",
  ]

  private static let dropped: [CacheScenario] = ofOneConnection.map { name in
    CacheScenario(
      name: "\(name) is not stored", isForHTTP1: true,
      steps: [
        Step(reply: "Cache-Control: max-age=3600\nDate: @0\n\(name): token", expectation: .fetched),
        Step(expectation: .cached, absentFields: [name]),
      ])
  }

  private static let storing: [CacheScenario] = [
    CacheScenario(
      name: "fields that Connection lists are not stored", isForHTTP1: true,
      steps: [
        Step(reply: fresh + "\nConnection: a, b\na: 1\nb: 2\nc: 3", expectation: .fetched),
        Step(expectation: .cached, expectedFields: "c: 3", absentFields: ["a", "b"]),
      ]),
    CacheScenario(
      name: "a body longer than its Content-Length is cut", isForHTTP1: true,
      steps: [
        Step(
          steps: [
            .raw(
              """
              HTTP/1.1 200 OK\r
              Server-Request-Count: 1\r
              Cache-Control: max-age=3600\r
              Content-Length: 4\r
              \r
              body and more
              """)
          ], expectation: .fetched, expectedBody: "body"),
        Step(expectation: .cached, expectedFields: "Content-Length: 4", expectedBody: "body"),
      ]),
    CacheScenario(
      name: "a body of an unknown transfer coding ends with the connection", isForHTTP1: true,
      steps: [
        Step(
          steps: [
            .raw(
              """
              HTTP/1.1 200 OK\r
              Server-Request-Count: 1\r
              Cache-Control: max-age=3600\r
              Transfer-Encoding: token\r
              \r
              body
              """),
            .closeGracefully,
          ], expectation: .fetched, expectedBody: "body"),
        Step(expectation: .cached, absentFields: ["Transfer-Encoding"], expectedBody: "body"),
      ]),
    CacheScenario(
      name: "no-cache with names keeps those fields out",
      steps: [
        Step(
          reply: "Cache-Control: no-cache=\"a, b\"\na: 1\nb: 2\nc: 3\nCache-Control: max-age=3600",
          expectation: .fetched),
        Step(expectation: .cached, expectedFields: "c: 3", absentFields: ["a", "b"]),
      ]),
  ]

  // MARK: 304 and HEAD

  private static let updates: [(String, String, String)] = [
    ("Test-Header", "a", "b"), ("X-Test-Header", "a", "b"), ("Content-Foo", "a", "b"), ("X-Content-Foo", "a", "b"),
    ("Cache-Control", "max-age=10", "max-age=3600"), ("Set-Cookie", "a=b", "a=c"), ("X-Frame-Options", "deny", "no"),
    ("Content-Type", "text/plain", "text/html"), ("Content-Security-Policy", "a", "b"),
    ("Content-Location", "/a", "/b"),
  ]

  private static let updated: [CacheScenario] = updates.map { name, old, new in
    let isControl = name == "Cache-Control"
    let first = "Date: @-60\nETag: \"a\"\n\(name): \(old)" + (isControl ? "" : "\nCache-Control: max-age=10")
    let second = "Date: @0\nETag: \"a\"\n\(name): \(new)" + (isControl ? "" : "\nCache-Control: max-age=99")
    return CacheScenario(
      name: "304 updates \(name)",
      steps: [
        Step(reply: first, expectation: .fetched),
        Step(
          reply: second, expectation: .validated(by: "If-None-Match"), expectedFields: "\(name): \(new)"),
        Step(expectation: .cached, expectedFields: "\(name): \(new)"),
      ])
  }

  private static let updating: [CacheScenario] = [
    CacheScenario(
      name: "304 keeps the length, the coding and the fields that it lacks",
      steps: [
        Step(reply: stale + "\nTest-Header: a\nContent-Encoding: unknown", expectation: .fetched),
        Step(
          reply: "Date: @0\nETag: \"a\"\nCache-Control: max-age=99\nContent-Encoding: gzip",
          expectation: .validated(by: "If-None-Match"),
          expectedFields: "Content-Length: 4\nTest-Header: a\nContent-Encoding: unknown"),
        Step(expectation: .cached, expectedFields: "Content-Length: 4\nTest-Header: a"),
      ]),
    CacheScenario(
      name: "a stale immutable response is validated, by caches on the way too",
      steps: [
        Step(
          reply: "Date: @-60\nCache-Control: max-age=2, immutable\nETag: \"a\"",
          expectation: .fetched),
        Step(policy: .reloadRevalidatingCacheData, expectation: .validated(by: "If-None-Match")),
      ]),
    CacheScenario(
      name: "Last-Modified validates",
      steps: [
        Step(
          reply: "Date: @0\nLast-Modified: @-9000\nCache-Control: no-cache", expectation: .fetched),
        Step(expectation: .validated(by: "If-Modified-Since")),
      ]),
    CacheScenario(
      name: "HEAD updates what is stored",
      steps: [
        Step(reply: stale + "\nTemplate-A: 1", expectation: .fetched),
        Step(
          method: "HEAD",
          reply: "Date: @0\nETag: \"a\"\nCache-Control: max-age=99\nTemplate-A: 2",
          expectation: .fetched),
        Step(expectation: .cached, expectedFields: "Template-A: 2"),
      ]),
    CacheScenario(
      name: "a condition of the app is answered",
      steps: [
        Step(reply: fresh + "\nETag: \"a\"", expectation: .fetched),
        Step(
          fields: "If-None-Match: \"x\", \"a\"", expectation: .cached, expectedStatus: 304,
          expectedFields: "ETag: \"a\"", expectedBody: ""),
        Step(fields: "If-None-Match: \"x\"", expectation: .cached, expectedBody: "body"),
      ]),
  ]

  // MARK: Invalidation, methods and statuses

  private static let removing: [CacheScenario] = ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap {
    method -> [CacheScenario] in
    [
      CacheScenario(
        name: "\(method) invalidates",
        steps: [
          Step(reply: fresh, expectation: .fetched),
          Step(method: method, hasContent: true, expectation: .fetched),
          Step(reply: fresh, expectation: .fetched),
        ]),
      CacheScenario(
        name: "\(method) that fails does not invalidate",
        steps: [
          Step(reply: fresh, expectation: .fetched),
          Step(method: method, hasContent: true, status: 500, expectation: .fetched),
          Step(expectation: .cached),
        ]),
      CacheScenario(
        name: "\(method) invalidates what its answer names",
        steps: [
          Step(path: "/a/one", reply: fresh, expectation: .fetched),
          Step(path: "/a/two", reply: fresh, expectation: .fetched),
          Step(
            method: method, path: "/a", hasContent: true,
            reply: "Location: /a/one\nContent-Location: /a/two", expectation: .fetched),
          Step(path: "/a/one", expectation: .fetched), Step(path: "/a/two", expectation: .fetched),
        ]),
    ]
  }

  private static let unstored: [CacheScenario] = ["POST", "PUT", "DELETE", "OPTIONS"].map { method in
    CacheScenario(
      name: "the answer to \(method) is not stored",
      steps: [
        Step(method: method, reply: fresh, expectation: .fetched), Step(method: method, expectation: .fetched),
        Step(expectation: .fetched),
      ])
  }

  private static let posted: [CacheScenario] = [
    CacheScenario(
      name: "the answer to a POST that names itself is stored",
      steps: [
        Step(
          method: "POST", hasContent: true,
          reply: "Date: @0\nExpires: @9000\nContent-Location: /a",
          expectation: .fetched), Step(expectation: .cached),
      ])
  ]

  private static let statuses: [CacheScenario] = [200, 203, 204, 299, 400, 404, 410, 499, 500, 502, 503, 504, 599].map {
    status in
    CacheScenario(
      name: "fresh \(status) is used",
      steps: [
        Step(status: status, reply: fresh, body: status == 204 ? "" : "body", expectation: .fetched),
        Step(expectation: .cached, expectedStatus: status, expectedBody: status == 204 ? "" : "body"),
      ])
  }

  // MARK: Parts, variants, stale answers

  private static let others: [CacheScenario] = [
    CacheScenario(
      name: "ranges are taken out of the whole",
      steps: [
        Step(reply: "Cache-Control: max-age=3600\nA: 1", body: "01234567890", expectation: .fetched),
        Step(
          fields: "Range: bytes=0-1", expectation: .cached, expectedStatus: 206, expectedFields: "A: 1",
          expectedBody: "01"),
        Step(
          fields: "Range: bytes=1-", expectation: .cached, expectedStatus: 206, expectedBody: "1234567890"),
        Step(fields: "Range: bytes=-1", expectation: .cached, expectedStatus: 206, expectedBody: "0"),
      ]),
    CacheScenario(
      name: "ranges are taken out of a part",
      steps: [
        Step(
          fields: "Range: bytes=-6", status: 206,
          reply: "Cache-Control: max-age=3600\nContent-Range: bytes 4-9/10", body: "456789",
          expectation: .fetched),
        Step(fields: "Range: bytes=-6", expectation: .cached, expectedStatus: 206, expectedBody: "456789"),
        Step(fields: "Range: bytes=6-8", expectation: .cached, expectedStatus: 206, expectedBody: "678"),
        Step(fields: "Range: bytes=-1", expectation: .cached, expectedStatus: 206, expectedBody: "9"),
        Step(fields: "Range: bytes=0-5", expectation: .fetched),
      ]),
    CacheScenario(
      name: "variants are kept beside each other",
      steps: [
        Step(fields: "Foo: 1", reply: fresh + "\nVary: Foo", body: "one", expectation: .fetched),
        Step(fields: "Foo: 2", reply: fresh + "\nVary: Foo", body: "two", expectation: .fetched),
        Step(fields: "Foo: 1", expectation: .cached, expectedBody: "one"),
        Step(fields: "Foo: 2", expectation: .cached, expectedBody: "two"),
        Step(expectation: .fetched),
      ]),
    CacheScenario(
      name: "a stale response that must be validated does not stand in for a lost connection",
      steps: [
        Step(
          reply: "Date: @-60\nCache-Control: max-age=2, must-revalidate, stale-if-error=600",
          expectation: .fetched), Step(steps: [.closeGracefully], expectation: .failed),
      ]),
    CacheScenario(
      name: "a stale response stands in for a lost connection where it says so",
      steps: [
        Step(
          reply: "Date: @-60\nCache-Control: max-age=2, stale-if-error=600", expectation: .fetched),
        Step(steps: [.closeGracefully], expectation: .cached),
      ]),
    CacheScenario(
      name: "a stale response does not stand in after its time",
      steps: [
        Step(
          reply: "Date: @-60\nCache-Control: max-age=0, stale-if-error=1\nETag: \"a\"",
          expectation: .fetched), Step(status: 500, expectation: .fetched, expectedStatus: 500),
      ]),
    CacheScenario(
      name: "interim responses do not stand in the way",
      steps: [
        Step(
          steps: [
            .informational(103, fields: [("Link", "</a.css>; rel=preload")]),
            .head(
              200, fields: CacheScenario.list("Server-Request-Count: 1\nCache-Control: max-age=99\nContent-Length: 4")),
            .body("body"),
          ], expectation: .fetched), Step(expectation: .cached, absentFields: ["Link"]),
      ]),
    CacheScenario(
      name: "Date stays",
      steps: [
        Step(
          reply: "Date: Mon, 11 Jan 2038 11:11:11 GMT\nCache-Control: max-age=3600\nAge: 30",
          expectation: .fetched),
        Step(expectation: .cached, expectedFields: "Date: Mon, 11 Jan 2038 11:11:11 GMT"),
      ]),
    CacheScenario(
      name: "directives for other caches are ignored",
      steps: [
        Step(
          reply: "Cache-Control: max-age=3600\nCDN-Cache-Control: no-store\nSurrogate-Control: no-store",
          expectation: .fetched), Step(expectation: .cached),
      ]),
    CacheScenario(
      name: "repeated fields are replayed",
      steps: [
        Step(reply: fresh + "\nMulti: 1\nMulti: 2", expectation: .fetched),
        Step(expectation: .cached, expectedFields: "Multi: 1, 2"),
      ]),
    CacheScenario(
      name: "Cookie of the request does not matter",
      steps: [
        Step(reply: fresh, expectation: .fetched), Step(fields: "Cookie: a=b", expectation: .cached),
      ]),
  ]

  private static let all: [[CacheScenario]] = [
    replayed, dropped, storing, updated, updating, removing, unstored, posted, statuses, others,
  ]

  @Test(arguments: all.flatMap { $0 })
  func scenarioHolds(_ scenario: CacheScenario) async throws {
    guard WireVersion.current == .http1 || !scenario.isForHTTP1 else { return }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      guard let number = request.value("Req-Num").flatMap({ Int($0) }), scenario.steps.indices.contains(number - 1)
      else { return .status(404) }
      let step = scenario.steps[number - 1]
      if let steps = step.steps { return Reply(steps) }
      var status = step.status
      if case .validated(let field) = step.expectation { status = request.value(field) == nil ? 999 : 304 }
      let body = request.head.method == "HEAD" ? "body" : step.body
      return .status(
        status, fields: CacheScenario.list(step.reply) + [("Server-Request-Count", "\(number)")], body: body)
    }
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    try await server.withSession(configure: { $0.urlCache = cache }) { server, session in
      for (index, step) in scenario.steps.enumerated() {
        try await play(step, number: index + 1, server, session)
      }
    }
  }

  private func play(_ step: Step, number: Int, _ server: LoopbackServer, _ session: URLSession) async throws {
    var request = URLRequest(url: server.url(step.path), cachePolicy: step.policy)
    request.httpMethod = step.method
    if step.hasContent { request.httpBody = Data("abc".utf8) }
    for field in CacheScenario.list(step.fields) { request.addValue(field.value, forHTTPHeaderField: field.name) }
    request.setValue("\(number)", forHTTPHeaderField: "Req-Num")
    let before = server.requests.count
    if step.expectation == .failed {
      await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      return
    }
    let (data, answer) = try await session.data(for: request)
    let response = try #require(answer as? HTTPURLResponse)
    let origin = response.value(forHTTPHeaderField: "Server-Request-Count").flatMap { Int($0) }
    switch step.expectation {
    case .cached: #expect(origin ?? 0 < number, "request \(number)")
    case .fetched: #expect(origin == number && server.requests.count > before, "request \(number)")
    case .validated(let field):
      #expect(server.requests.last?.value(field) != nil, "request \(number)")
      if step.policy == .reloadRevalidatingCacheData {
        #expect(server.requests.last?.value("Cache-Control") == "max-age=0")
      }
    case .failed: break
    }
    let status = step.expectedStatus ?? (step.expectation == .fetched ? step.status : 200)
    #expect(response.statusCode == status)
    for (name, value) in CacheScenario.list(step.expectedFields) {
      #expect(response.value(forHTTPHeaderField: name) == value, "\(name) of response \(number)")
    }
    for name in step.absentFields { #expect(response.value(forHTTPHeaderField: name) == nil, "\(name)") }
    if let body = step.expectedBody { #expect(String(decoding: data, as: UTF8.self) == body) }
  }
}
