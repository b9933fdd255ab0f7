import Foundation
import FoundationNetworking
import Harness

/// Loads through `URLSession`. Built twice from this one source: over this package, and over the toolchain's own
/// FoundationNetworking.
@main
enum URLSessionClient {
  static func main() async throws {
    let assignment = Assignment.fromCommandLine()
    switch (assignment.work, assignment.mode) {
    #if OURS
    case (.small, "async") where assignment.isHTTP3: try await QUICGets(assignment).throughAsync()
    case (.large, "memory") where assignment.isHTTP3: try await QUICGets(assignment).intoMemory()
    case (.large, "file") where assignment.isHTTP3: try await QUICGets(assignment).intoFile()
    case (.upload, "file") where assignment.isHTTP3: try await QUICGets(assignment).upload()
    case (.first, "async"): try await QUICGets(assignment).firstBytes()
    #endif
    case (.small, "async"): try await SmallGets(assignment).throughAsync()
    case (.small, "completion"): try await SmallGets(assignment).throughCompletionHandlers()
    case (.small, "delegate"): try await SmallGetsDelegate(assignment).run()
    case (.tasks, "completion"): try await ManyTasks(assignment).throughCompletionHandlers()
    case (.scattered, "completion"): try await ManyTasks(assignment).throughCompletionHandlers()
    case (.one, "async"): try await SmallGets(assignment).once()
    case (.upload, "file"): try await LargeUpload(assignment).fromFile()
    case (.mock, "async"): try await MockAnswers(assignment).throughAsync()
    case (.mock, "completion"): try await MockAnswers(assignment).throughCompletionHandlers()
    case (.large, "memory"): try await LargeGet(assignment).intoMemory()
    case (.large, "delegate"): try await LargeGet(assignment).throughDelegate()
    #if OURS
    case (.large, "bytes"): try await LargeGet(assignment).throughBytes()
    case (.cache, "memory"): try await CacheHits(assignment, memoryCapacity: 4 << 20).run()
    case (.cache, "disk"): try await CacheHits(assignment, memoryCapacity: 0).run()
    case (.cache, "entries"): try await CacheEntries(assignment).run()
    case (.cookies, "find"): try await CookieSearch(assignment).run()
    #endif
    case (.large, "file"): try await LargeGet(assignment).intoFile()
    default: fail("no \(assignment.work) loads through \(assignment.mode)")
    }
  }
}

extension URLSession {
  /// A session as a benchmark wants it: as many connections as asked for; no cache and no cookies, as the peers have
  /// none, or those of a default session.
  static func forMeasuring(_ assignment: Assignment, delegate: (any URLSessionDelegate)? = nil) -> URLSession {
    let configuration = assignment.hasStores ? URLSessionConfiguration.default : .ephemeral
    if assignment.hasStores {
      configuration.fillStores()
    } else {
      configuration.urlCache = nil
      configuration.httpCookieStorage = nil
    }
    configuration.httpMaximumConnectionsPerHost = assignment.connectionsPerHost
    if let user = assignment.user, let host = assignment.url.host {
      let space = URLProtectionSpace(
        host: host, port: assignment.url.port ?? 80, protocol: NSURLProtectionSpaceHTTP, realm: "members",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      configuration.urlCredentialStorage?.setDefaultCredential(
        URLCredential(user: user.name, password: user.password, persistence: .forSession), for: space)
    }
    #if OURS
    // The toolchain's library looks at the environment only.
    if let proxy = assignment.proxy, let host = proxy.host, let port = proxy.port {
      configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": port]
    }
    if let proxy = assignment.tunnel, let host = proxy.host,
      let port = proxy.port.flatMap({ NWEndpoint.Port("\($0)") })
    {
      configuration.proxyConfigurations = [
        ProxyConfiguration(httpCONNECTProxy: .hostPort(host: NWEndpoint.Host(host), port: port))
      ]
    }
    #endif
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }
}

extension URLSessionConfiguration {
  /// Adds responses and cookies of other hosts: stores that are empty are known to be, and cost less.
  fileprivate func fillStores() {
    for number in 0..<100 {
      let host = "www.site\(number).example"
      guard let url = URL(string: "http://\(host)/"),
        let response = HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=86400"]),
        let cookie = HTTPCookie(properties: [
          .name: "visit", .value: "\(number)", .domain: host, .path: "/", .expires: Date(timeIntervalSinceNow: 86_400),
        ])
      else { fail("no response or cookie of \(host)") }
      let cached = CachedURLResponse(response: response, data: Data(repeating: 1, count: 1024))
      urlCache?.storeCachedResponse(cached, for: URLRequest(url: url))
      httpCookieStorage?.setCookie(cookie)
    }
  }
}

func verify(_ response: URLResponse?, bytes: Int, expected: Int) {
  verify(status: (response as? HTTPURLResponse)?.statusCode, bytes: bytes, expected: expected)
}
