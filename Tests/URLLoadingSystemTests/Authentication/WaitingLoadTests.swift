import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Loads that wait for a connection while another one is let in carry its credential when they get one.
@Suite struct WaitingLoadTests {
  private static let challenges = [
    #"Basic realm="here""#, #"Digest realm="here", nonce="n", qop="auth", algorithm=SHA-256"#,
  ]

  private func load(_ count: Int, in session: URLSession, from server: LoopbackServer) async throws {
    try await withThrowingTaskGroup(of: Int?.self) { group in
      for number in 0..<count {
        group.addTask {
          let (_, response) = try await session.data(from: server.url("/\(number)"))
          return (response as? HTTPURLResponse)?.statusCode
        }
      }
      for try await status in group { #expect(status == 200) }
    }
  }

  @Test(arguments: challenges.indices) func theServerIsNotAskedByEachOfThem(_ row: Int) async throws {
    try await withServer({ request in
      request.value("Authorization") == nil ? .unauthorized(Self.challenges[row]) : .ok("in")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate) { $0.httpMaximumConnectionsPerHost = 2 }
      defer { session.invalidateAndCancel() }
      try await load(40, in: session, from: server)
      let asked = server.requests.filter { $0.value("Authorization") == nil }
      // The first one on each connection, and those that got one before an answer was there.
      #expect(asked.count <= 6, "\(asked.count) of \(server.requests.count) asked")
      #expect(server.requests.count == 40 + asked.count)
      #expect(server.connectionCount <= 2)
    }
  }

  /// What was asked for without a credential, and fetched with one, is stored as the answer to the latter.
  @Test func theCacheKnowsWhichRequestWasSent() async throws {
    try await withServer({ request in
      guard let value = request.value("Authorization") else { return .unauthorized(Self.challenges[0]) }
      return .ok(value, fields: [("Cache-Control", "max-age=1000"), ("Vary", "Authorization")])
    }) { server in
      let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
      let session = URLSession.answering(.user("ann", "1")) {
        $0.httpMaximumConnectionsPerHost = 1
        $0.urlCache = cache
        $0.requestCachePolicy = .useProtocolCachePolicy
      }
      defer { session.invalidateAndCancel() }
      try await load(10, in: session, from: server)
      let count = server.requests.count
      let other = URLSession.answering(.user("bob", "2")) {
        $0.urlCache = cache
        $0.requestCachePolicy = .useProtocolCachePolicy
      }
      defer { other.invalidateAndCancel() }
      for number in 0..<10 { try await expectText(basic("bob", "2"), other.data(from: server.url("/\(number)"))) }
      #expect(server.requests.count >= count + 10)
    }
  }

  /// A credential that the app takes away meanwhile, and one for another folder, change nothing.
  @Test func anotherFolderIsAskedFirst() async throws {
    try await withServer({ request in
      request.value("Authorization") == nil ? .unauthorized("Basic realm=\(request.path.prefix(2))") : .ok("in")
    }) { server in
      let session = URLSession.answering(.user("ann", "1")) { $0.httpMaximumConnectionsPerHost = 1 }
      defer { session.invalidateAndCancel() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for path in ["/a/1", "/b/1", "/a/2", "/b/2", "/a/3", "/b/3"] {
          group.addTask { try await expectText("in", session.data(from: server.url(path))) }
        }
        try await group.waitForAll()
      }
      #expect(
        server.requests.allSatisfy {
          $0.value("Authorization") == nil || $0.value("Authorization") == basic("ann", "1")
        })
    }
  }
}
