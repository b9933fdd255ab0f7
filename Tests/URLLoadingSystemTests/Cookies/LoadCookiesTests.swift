import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Cookies of loads, from the server and back to it.
@Suite(.overHTTP1To3) struct LoadCookiesTests {
  func answer(_ body: String = "", cookies: [String]) -> Reply {
    var reply = Reply.ok(body)
    for cookie in cookies { reply = reply.adding([("Set-Cookie", cookie)]) }
    return reply
  }

  func storage(_ configuration: URLSessionConfiguration) throws -> HTTPCookieStorage {
    try #require(configuration.httpCookieStorage)
  }

  @Test func whatAServerSetsIsSentBack() async throws {
    let configuration = URLSessionConfiguration.loopback
    try await withServer({ _ in answer(cookies: ["a=1; Path=/", "b=2; Path=/in", "c=3; Path=/; Max-Age=0"]) }) {
      server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/in/x"))
      _ = try await session.data(from: server.url("/in/y"))
      _ = try await session.data(from: server.url("/out"))
      #expect(server.requests.map { $0.value("Cookie") } == [nil, "b=2; a=1", "a=1"])
    }
    #expect(try storage(configuration).cookies?.map(\.name) == ["a", "b"])
  }

  @Test func aRedirectsCookiesAreSentToTheNextHop() async throws {
    let configuration = URLSessionConfiguration.loopback
    try await withServer({
      $0.target == "/first"
        ? Reply.redirect(to: "/second").adding([("Set-Cookie", "hop=1; Path=/")]) : .ok("")
    }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/first"))
      #expect(server.requests.map { $0.value("Cookie") } == [nil, "hop=1"])
    }
  }

  @Test func aChallengesCookiesAreSentWithTheAnswer() async throws {
    let configuration = URLSessionConfiguration.loopback
    try await withServer({
      $0.value("Authorization") == nil
        ? Reply.status(401).adding([("WWW-Authenticate", "Basic realm=r"), ("Set-Cookie", "asked=1; Path=/")])
        : .ok("")
    }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      var parts = try #require(URLComponents(url: server.url("/"), resolvingAgainstBaseURL: false))
      (parts.user, parts.password) = ("user", "secret")
      _ = try await session.data(from: try #require(parts.url))
      #expect(server.requests.map { $0.value("Cookie") } == [nil, "asked=1"])
    }
  }

  @Test func aResponseWithThousandsOfCookiesIsAResponse() async throws {
    let configuration = URLSessionConfiguration.loopback
    // The server of the tests can't send a head of HTTP/2 that does not fit into one frame, and what speaks HTTP/3 for it takes
    // no list of more than 64 KiB.
    let (count, names, attributes) =
      switch WireVersion.current {
      case .http1: (3_000, 3_000, "; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT")
      case .http2: (3_000, 50, "")
      case .http3: (1_000, 50, "")
      }
    let cookies = (0..<count).map { "c\($0 % names)=v" + attributes }
    try await withServer({ _ in answer("here", cookies: cookies) }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let (data, _) = try await session.data(from: server.url("/"))
      #expect(String(decoding: data, as: UTF8.self) == "here")
    }
    #expect(try storage(configuration).cookies?.count == min(names, 180))
  }

  @Test(arguments: ["configuration", "request", "store"])
  func cookiesCanBeTurnedOff(by what: String) async throws {
    let configuration = URLSessionConfiguration.loopback
    let storage = try storage(configuration)
    try await withServer({ _ in answer(cookies: ["new=1; Path=/"]) }) { server in
      let url = server.url("/")
      let own = try #require(
        HTTPCookie(properties: [.name: "old", .value: "1", .path: "/", .domain: url.host ?? ""]))
      storage.setCookie(own)
      var request = URLRequest(url: url)
      switch what {
      case "configuration":
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
      case "request": request.httpShouldHandleCookies = false
      default: configuration.httpCookieStorage = nil
      }
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(for: request)
      #expect(server.requests.map { $0.value("Cookie") } == [nil])
    }
    #expect(storage.cookies?.map(\.name) == ["old"])
  }

  /// The configuration's policy counts, not the store's.
  @Test func theConfigurationsPolicyWins() async throws {
    let configuration = URLSessionConfiguration.loopback
    try storage(configuration).cookieAcceptPolicy = .never
    configuration.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain
    try await withServer({ answer(cookies: ["\($0.target.dropFirst())=1; Path=/"]) }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      for (path, main) in [("own", server.url("/page")), ("foreign", try #require(URL(string: "http://example.org/")))]
      {
        var request = URLRequest(url: server.url("/" + path))
        request.mainDocumentURL = main
        _ = try await session.data(for: request)
      }
    }
    #expect(try storage(configuration).cookies?.map(\.name) == ["own"])
  }

  @Test func aPartitionsCookiesStayInIt() async throws {
    try await withServer({ _ in answer(cookies: ["a=1; Path=/"]) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for partition in ["one", "one", "two", nil] {
        var request = URLRequest(url: server.url("/"))
        request.cookiePartitionIdentifier = partition
        _ = try await session.data(for: request)
      }
      #expect(server.requests.map { $0.value("Cookie") } == [nil, "a=1", nil, nil])
    }
  }

  /// The store's cookies replace a field of the app's own; without any for the URL that field is sent.
  @Test func theStoresCookiesReplaceAFieldOfTheApp() async throws {
    let configuration = URLSessionConfiguration.loopback
    try await withServer({ _ in answer(cookies: ["a=1; Path=/in"]) }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      for path in ["/in/x", "/in/x", "/out"] {
        var request = URLRequest(url: server.url(path))
        request.setValue("own=1", forHTTPHeaderField: "Cookie")
        _ = try await session.data(for: request)
      }
      #expect(server.requests.map { $0.value("Cookie") } == ["own=1", "a=1", "own=1"])
    }
  }

  @Test func aStoreOfTheAppsClassIsAskedForEachTask() async throws {
    let configuration = URLSessionConfiguration.loopback
    let storage = TaskStorage()
    configuration.httpCookieStorage = storage
    try await withServer({ _ in answer(cookies: ["a=1; Path=/"]) }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/"))
      _ = try await session.data(from: server.url("/"))
      #expect(server.requests.map { $0.value("Cookie") } == ["asked=1", "asked=1; a=1"])
    }
    #expect(storage.calls.withLock { $0 } == ["get", "store a", "get", "store a"])
  }

  /// RFC 6455 §4.1: the handshake is a request like any other.
  @Test func aWebSocketsHandshakeSendsAndSetsCookies() async throws {
    let configuration = URLSessionConfiguration.loopback
    let handshakes = Recorder<WebSocketPeer>()
    try await withPeer({ peer in
      handshakes.record(peer)
      try await peer.open(["Set-Cookie: opened=\(handshakes.all.count); Path=/"])
      try await peer.echo()
    }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 {
        let task = session.webSocketTask(with: server.socketURL("/chat"))
        task.resume()
        try await task.send(.string("x"))
        #expect(try await task.receive().text == "x")
        task.cancel(with: .normalClosure, reason: nil)
      }
    }
    #expect(handshakes.all.map { $0.value("Cookie") } == [nil, "opened=1"])
    #expect(try storage(configuration).cookies?.map(\.value) == ["2"])
  }

  /// Set-Cookie is obeyed when it comes from the network, not when the response comes from the cache.
  @Test func aStoredResponseSetsNoCookieAgain() async throws {
    let configuration = URLSessionConfiguration.loopback
    let storage = try storage(configuration)
    try await withServer({ _ in
      Reply.ok("x").adding([("Set-Cookie", "a=1; Path=/"), ("Cache-Control", "max-age=1000")])
    }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/"))
      #expect(storage.cookies?.count == 1)
      storage.removeCookies(since: .distantPast)
      _ = try await session.data(from: server.url("/"))
      #expect(server.requests.count == 1)
      #expect(storage.cookies == [])
    }
  }

  @Test func changesByLoadsAreTold() async throws {
    let configuration = URLSessionConfiguration.loopback
    let storage = try storage(configuration)
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let observer = NotificationCenter.default.addObserver(
      forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
    ) { _ in continuation.finish() }
    defer { NotificationCenter.default.removeObserver(observer) }
    try await withServer({ _ in answer(cookies: ["a=1"]) }) { server in
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/"))
      for await _ in changes {}
    }
  }

  /// The store of a session on the disk is read before its first request.
  @Test func cookiesOfTheDiskAreSent() async throws {
    let folder = NSTemporaryDirectory() + "cookies-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withServer({ _ in answer(cookies: ["kept=1; Path=/; Max-Age=100"]) }) { server in
      for _ in 0..<2 {
        let configuration = URLSessionConfiguration.loopback
        configuration.httpCookieStorage = HTTPCookieStorage(directory: folder)
        let session = URLSession(configuration: configuration)
        _ = try await session.data(from: server.url("/"))
        await session.flush()
        session.invalidateAndCancel()
      }
      #expect(server.requests.map { $0.value("Cookie") } == [nil, "kept=1"])
    }
  }
}

/// Adds a cookie to each request, and notes what it is asked.
private final class TaskStorage: HTTPCookieStorage, @unchecked Sendable {
  let calls = Mutex<[String]>([])

  override func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
    calls.withLock { $0.append("store " + cookies.map(\.name).joined()) }
    super.storeCookies(cookies, for: task)
  }

  override func getCookiesFor(
    _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
  ) {
    calls.withLock { $0.append("get") }
    let host = task.currentRequest?.url?.host ?? ""
    let asked = HTTPCookie(properties: [.name: "asked", .value: "1", .path: "/", .domain: host])
    super.getCookiesFor(task) { found in completionHandler((asked.map { [$0] } ?? []) + (found ?? [])) }
  }
}
