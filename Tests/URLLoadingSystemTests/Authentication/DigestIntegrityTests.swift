import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Responses whose bodies are covered by the server's proof: `rspauth` of `auth-int` (RFC 7616 §3.5).
@Suite struct DigestIntegrityTests {
  private static let challenge = #"Digest realm="here", nonce="n", qop="auth-int", algorithm=SHA-256"#

  private static func hex(_ bytes: [UInt8]) -> String { DigestHash.sha256.hex(bytes) }
  private static func hex(_ text: String) -> String { hex(Array(text.utf8)) }

  /// The Authentication-Info of a server that knows the password and sends `body`; nil for a request without a right
  /// answer to the challenge.
  private static func information(
    _ request: RecordedRequest, _ body: [UInt8], password: String = "pass", prefix: String = ""
  ) -> HeaderList? {
    guard let value = request.value(prefix + "Authorization"),
      let parameters = AuthenticationChallenge.parse([value]).first?.parameters, parameters["qop"] == "auth-int",
      let nonce = parameters["nonce"], let count = parameters["nc"], let cnonce = parameters["cnonce"]
    else { return nil }
    func proof(_ method: String, _ body: [UInt8], _ password: String) -> String {
      let end = hex("\(method):\(request.target):\(hex(body))")
      return hex("\(hex("ann:here:\(password)")):\(nonce):\(count):\(cnonce):auth-int:\(end)")
    }
    guard parameters["response"] == proof(request.method, request.body.bytes, "pass") else { return nil }
    let field = #"rspauth="\#(proof("", body, password))", cnonce="\#(cnonce)", nc=\#(count), qop=auth-int"#
    return [(prefix + "Authentication-Info", field)]
  }

  /// The reply to a request that is let in, with a proof for `proven`.
  private static func reply(
    _ request: RecordedRequest, proven: [UInt8], _ reply: (HeaderList) -> Reply
  ) -> Reply { information(request, proven).map(reply) ?? .unauthorized(challenge) }

  private func expectUnproven(
    sourceLocation: SourceLocation = #_sourceLocation, _ load: () async throws -> Void
  ) async {
    let error = await #expect(throws: URLError.self, sourceLocation: sourceLocation) { try await load() }
    #expect(error?.code == .userAuthenticationRequired, sourceLocation: sourceLocation)
    #expect(error?.failingURL != nil, sourceLocation: sourceLocation)
  }

  // MARK: Bodies

  @Test(.overHTTP1To3, arguments: [0, 2, 300_000]) func aProvenBodyIsLoaded(_ count: Int) async throws {
    let body = BytePattern().bytes(count: count)
    try await withServer({ request in
      Self.reply(request, proven: body) { .ok(body, fields: $0) }
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      let first = try await session.data(from: server.url("/a")).0
      #expect(first == Data(body))
      // The credential was kept when the body had come.
      let second = try await session.data(from: server.url("/b")).0
      #expect(second == Data(body))
      #expect(server.requests.count == 3 && delegate.asked.all.count == 1)
    }
  }

  /// The proof is of a body with more bytes, with fewer, and with others.
  @Test(.overHTTP1To3, arguments: [(0, 1, 1), (1, 0, 1), (300_000, 299_999, 1), (300_000, 300_000, 2)])
  func anotherBodyFailsTheLoad(_ count: Int, _ provenCount: Int, _ seed: Int) async throws {
    let body = BytePattern().bytes(count: count)
    let proven = BytePattern(seed: UInt64(seed)).bytes(count: provenCount)
    try await withServer({ request in
      Self.reply(request, proven: proven) { .ok(body, fields: $0) }
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { await expectUnproven { _ = try await session.data(from: server.url()) } }
      // The credential of a server that does not know it is not kept.
      #expect(server.requests.count == 4 && delegate.asked.all.count == 2)
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }

  @Test func aServerWithoutThePasswordFailsTheLoad() async throws {
    let body = Array("in".utf8)
    try await withServer({ request in
      guard let fields = Self.information(request, body, password: "other") else {
        return .unauthorized(Self.challenge)
      }
      return .ok(body, fields: fields)
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      await expectUnproven { _ = try await session.data(from: server.url()) }
    }
  }

  // MARK: Bodies of requests

  /// The file is hashed before it is sent: its parts are of several turns of the reader.
  @Test(.overHTTP1To3, arguments: [0, 3, 300_000, 1_000_000])
  func aFileIsProven(_ count: Int) async throws {
    let folder = try TemporaryFolder()
    let file = URL(fileURLWithPath: folder.path("body"))
    try Data(BytePattern().bytes(count: count)).write(to: file)
    let body = Array("in".utf8)
    try await withServer({ request in
      Self.reply(request, proven: body) { .ok(body, fields: $0) }
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/a"))
      request.httpMethod = "PUT"
      // The second request says it unasked.
      for _ in 0..<2 { try await expectText("in", session.upload(for: request, fromFile: file)) }
      #expect(delegate.asked.all.count == 1 && server.requests.count == 3)
      #expect(server.requests.allSatisfy { $0.body.bytes.count == count })
    }
  }

  @Test func aFileThatIsGoneFailsTheLoad() async throws {
    let folder = try TemporaryFolder()
    let file = URL(fileURLWithPath: folder.path("body"))
    try Data("body".utf8).write(to: file)
    let path = file.path
    try await withServer({ request in
      try? FileManager.default.removeItem(atPath: path)
      return .unauthorized(Self.challenge)
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/a"))
      request.httpMethod = "PUT"
      let error = await #expect(throws: URLError.self) { _ = try await session.upload(for: request, fromFile: file) }
      #expect(error?.code == .fileDoesNotExist)
    }
  }

  /// A stream can be read once.
  @Test func aStreamIsNotProven() async throws {
    try await withServer({ _ in .unauthorized(Self.challenge) }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/a"))
      request.httpMethod = "PUT"
      request.httpBodyStream = InputStream(data: Data("body".utf8))
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .userAuthenticationRequired)
      #expect(server.requests.allSatisfy { $0.value("Authorization") == nil })
    }
  }

  // MARK: Trailers

  /// A proof that is made while the body is sent comes behind it (RFC 7615 §3).
  @Test(.overHTTP1To3) func aProofAmongTheTrailersIsJudged() async throws {
    let body = Array("in".utf8)
    try await withServer({ request in
      let proven = request.path == "/right" ? body : []
      return Self.reply(request, proven: proven) { fields in
        .chunked(["i", "n"], fields: [("Trailer", "Sum, authentication-info")], trailers: fields + [("Sum", "1")])
      }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/right")))
      await expectUnproven { _ = try await session.data(from: server.url("/wrong")) }
    }
  }

  /// The head speaks of a proof that never comes, or comes without being announced: nothing is claimed, nothing fails.
  @Test(.overHTTP1To3, arguments: ["Authentication-Info", "Sum"])
  func aResponseWithoutAProofIsLoaded(_ announced: String) async throws {
    try await withServer({ request in
      Self.reply(request, proven: []) { fields in
        .chunked(["in"], fields: [("Trailer", announced)], trailers: announced == "Sum" ? fields : [])
      }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
    }
  }

  /// The proof is of the bytes as they were sent, not of what they decode to.
  @Test(.overHTTP1To3, arguments: [CodedBytes.gzip, .zlib, .brotli, .zstd])
  func aCompressedBodyIsProvenAsItCame(_ coding: CodedBytes) async throws {
    let plain = Array("again and again and again".utf8)
    let coded = coding.encode(plain)
    let field: HeaderList = [("Content-Encoding", coding.coding)]
    try await withServer({ request in
      Self.reply(request, proven: request.path == "/plain" ? plain : coded) { .ok(coded, fields: $0 + field) }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      let coded = try await session.data(from: server.url("/coded")).0
      #expect(coded == Data(plain))
      await expectUnproven { _ = try await session.data(from: server.url("/plain")) }
    }
  }

  @Test(.overHTTP1To3, arguments: ["HEAD", "GET"])
  func aResponseWithoutABodyIsJudgedAtOnce(_ method: String) async throws {
    try await withServer({ request in
      Self.reply(request, proven: request.path == "/right" ? [] : [1]) {
        method == "HEAD" ? .ok("in", fields: $0) : .status(204, fields: $0)
      }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/right"))
      request.httpMethod = method
      try await expectStatus(method == "HEAD" ? 200 : 204, session.data(for: request))
      request.url = server.url("/wrong")
      await expectUnproven { _ = try await session.data(for: request) }
    }
  }

  // MARK: Follow-ups

  /// A redirect is followed after its body is judged.
  @Test(.overHTTP1To3) func aRedirectIsFollowedOnceItIsProven() async throws {
    let body = Array("there".utf8)
    try await withServer({ request in
      switch request.path {
      case "/right", "/wrong":
        Self.reply(request, proven: request.path == "/right" ? body : []) {
          .status(302, fields: $0 + [("Location", "/there")], body: body)
        }
      default: Self.reply(request, proven: body) { .ok(body, fields: $0) }
      }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      try await expectText("there", session.data(from: server.url("/right")))
      let count = server.requests.count
      await expectUnproven { _ = try await session.data(from: server.url("/wrong")) }
      #expect(server.requests.dropFirst(count).allSatisfy { $0.path == "/wrong" })
    }
  }

  /// An upload goes on at the place that an answer names once the answer is proven.
  @Test func anUploadGoesOnOnceTheAnswerIsProven() async throws {
    let body = Array("not all".utf8)
    let proven = Mutex(body)
    let offer: HeaderList = [("Upload-Complete", "?0"), ("Location", "/part")]
    try await withServer({ request in
      guard request.path != "/part" else { return .status(410) }
      return Self.reply(request, proven: proven.withLock { $0 }) { .status(201, fields: $0 + offer, body: body) }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      _ = try? await session.upload(for: request, from: Data("whole".utf8))
      #expect(server.requests.contains { $0.path == "/part" })
      let count = server.requests.count
      proven.withLock { $0 = [] }
      await expectUnproven { _ = try await session.upload(for: request, from: Data("whole".utf8)) }
      #expect(server.requests.dropFirst(count).allSatisfy { $0.path != "/part" })
    }
  }

  /// A 304 is proven with its own body, which is empty, and not with the stored one.
  @Test(.overHTTP1To3) func aStoredResponseIsConfirmedByAProof() async throws {
    let body = Array("stored".utf8)
    let isWrong = Gate()
    let fields: HeaderList = [("ETag", "\"e\""), ("Cache-Control", "max-age=0, stale-if-error=1000")]
    try await withServer({ request in
      guard request.value("If-None-Match") != nil else {
        return Self.reply(request, proven: body) { .ok(body, fields: $0 + fields) }
      }
      return Self.reply(request, proven: isWrong.isOpen ? body : []) { .status(304, fields: $0 + fields) }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass")) {
        $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
      }
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectText("stored", session.data(from: server.url())) }
      isWrong.open()
      await expectUnproven { _ = try await session.data(from: server.url()) }
      #expect(server.requests.last?.value("If-None-Match") == "\"e\"")
    }
  }

  @Test(.overHTTP1To3) func aBodyThatIsNotProvenIsNotStored() async throws {
    let body = Array("in".utf8)
    try await withServer({ request in
      Self.reply(request, proven: []) { .ok(body, fields: $0 + [("Cache-Control", "max-age=1000")]) }
    }) { server in
      let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
      let session = URLSession.answering(.user("ann", "pass")) { $0.urlCache = cache }
      defer { session.invalidateAndCancel() }
      await expectUnproven { _ = try await session.data(from: server.url()) }
      #expect(cache.cachedResponse(for: URLRequest(url: server.url())) == nil)
    }
  }

  /// What is not the server's is not kept as the beginning of a later try.
  /// Bytes that came without a proof are not put together with a part that has one.
  @Test(.overHTTP1To3) func bytesWithoutAProofAreAskedForAgain() async throws {
    let count = 300_000
    let body = BytePattern().bytes(count: count)
    let file = FileResource(size: Int64(count))
    file.update { $0.cuts = [.after(100_000)] }
    let isProtected = Gate()
    try await withServer({ request in
      guard isProtected.isOpen else { return file.reply(to: request) }
      let range = request.value("Range").flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
      let part = Array(body.dropFirst(range ?? 0))
      return Self.reply(request, proven: part) { fields in
        var fields = fields + [("ETag", file.version.etag ?? ""), ("Accept-Ranges", "bytes")]
        if let range { fields.append(("Content-Range", "bytes \(range)-\(count - 1)/\(count)")) }
        return .status(range == nil ? 200 : 206, fields: fields, body: part)
      }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.download(from: server.url()) }
      let data = try #require(error?.downloadTaskResumeData)
      isProtected.open()
      let (url, response) = try await session.download(resumeFrom: data)
      defer { try? FileManager.default.removeItem(at: url) }
      #expect(BytePattern().difference(toFile: url.path, count: Int64(count)) == nil)
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      let ranges = server.requests.map { $0.value("Range") != nil }
      #expect(ranges.last == false && ranges.contains(true))
    }
  }

  @Test(.overHTTP1To3) func aDownloadThatIsNotProvenIsNotResumed() async throws {
    let body = BytePattern().bytes(count: 300_000)
    try await withServer({ request in
      Self.reply(request, proven: []) { .ok(body, fields: $0 + [("ETag", "\"e\""), ("Accept-Ranges", "bytes")]) }
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.download(from: server.url()) }
      #expect(error?.code == .userAuthenticationRequired && error?.downloadTaskResumeData == nil)
    }
  }

  // MARK: Proxies

  @Test(arguments: [true, false]) func aProxyProvesTheBodyItForwards(isRight: Bool) async throws {
    let body = Array("in".utf8)
    try await withServer({ request in
      guard let fields = Self.information(request, isRight ? body : [], prefix: "Proxy-") else {
        return .status(407, fields: [("Proxy-Authenticate", Self.challenge)])
      }
      return .ok(body, fields: fields)
    }) { proxy in
      let session = URLSession.answering(.user("ann", "pass")) {
        $0.connectionProxyDictionary = proxyDictionary(http: proxy.port)
      }
      defer { session.invalidateAndCancel() }
      let url = try #require(URL(string: "http://one.example/"))
      if isRight {
        try await expectText("in", session.data(from: url))
      } else {
        await expectUnproven { _ = try await session.data(from: url) }
      }
    }
  }

  /// The stored response does not stand in for an answer of something that is not the proxy.
  @Test func aWrongProofOfAProxyIsNotReplacedByAStoredResponse() async throws {
    let body = Array("stored".utf8)
    let isWrong = Gate()
    let stored: HeaderList = [("ETag", "\"e\""), ("Cache-Control", "max-age=0, stale-if-error=1000")]
    try await withServer({ request in
      let isAsked = request.value("If-None-Match") != nil
      let proven = isAsked && !isWrong.isOpen ? [] : body
      guard let fields = Self.information(request, proven, prefix: "Proxy-") else {
        return .status(407, fields: [("Proxy-Authenticate", Self.challenge)])
      }
      return isAsked ? .status(304, fields: fields + stored) : .ok(body, fields: fields + stored)
    }) { proxy in
      let session = URLSession.answering(.user("ann", "pass")) {
        $0.connectionProxyDictionary = proxyDictionary(http: proxy.port)
        $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
      }
      defer { session.invalidateAndCancel() }
      let url = try #require(URL(string: "http://one.example/"))
      for _ in 0..<2 { try await expectText("stored", session.data(from: url)) }
      isWrong.open()
      await expectUnproven { _ = try await session.data(from: url) }
      #expect(proxy.requests.last?.value("If-None-Match") == "\"e\"")
    }
  }
}
