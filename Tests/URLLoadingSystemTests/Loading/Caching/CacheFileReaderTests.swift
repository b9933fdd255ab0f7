import EveryVersion
import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Bodies in files that were damaged: larger than those that a look-up checks.
@Suite(.overHTTP1To3) struct CacheFileReaderTests {
  private static let count: Int64 = 3_000_000

  private func withDamage(
    at offset: Int, _ fields: HeaderList = [("Cache-Control", "max-age=3600")],
    _ body: (LoopbackServer, URLSession, Data) async throws -> Void
  ) async throws {
    let place = TemporaryCache()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.value("If-None-Match") == nil
        ? .pattern(BytePattern(), count: Self.count, fields: fields) : .status(304, fields: fields)
    }
    try await server.withSession(configure: { $0.urlCache = place.cache(disk: 100_000_000) }) { server, session in
      let whole = try await session.data(from: server.url()).0
      let file = try #require(place.bodies.first)
      let handle = try FileHandle(forUpdating: file)
      try handle.seek(toOffset: UInt64(offset))
      try handle.write(contentsOf: Data([whole[offset] ^ 1]))
      try handle.close()
      try await body(server, session, whole)
      let last = try await session.data(from: server.url()).0
      #expect(last == whole)
      #expect(place.bodies.count == 1 && place.bodies.first != file)
    }
  }

  @Test func bodyThatBeginsDamagedIsFetchedByTheSameLoad() async throws {
    try await withDamage(at: 10) { server, session, whole in
      let next = try await session.data(from: server.url()).0
      #expect(next == whole)
      #expect(server.requests.count == 2)
    }
  }

  @Test func bodyThatIsDamagedFurtherOnFailsOneLoad() async throws {
    try await withDamage(at: 2_000_000) { server, session, whole in
      await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(server.requests.count == 1)
      let next = try await session.data(from: server.url()).0
      #expect(next == whole)
      #expect(server.requests.count == 2)
    }
  }

  @Test func damagedBodyThatTheOriginConfirmsIsFetched() async throws {
    try await withDamage(at: 10, [("Cache-Control", "max-age=10"), ("Age", "60"), ("ETag", "\"e\"")]) {
      server, session, whole in
      let next = try await session.data(from: server.url()).0
      #expect(next == whole)
      #expect(server.requests.map { $0.value("If-None-Match") } == [nil, "\"e\"", nil])
    }
  }

  @Test func damagedBodyStandsInForNoError() async throws {
    let place = TemporaryCache()
    let fields: HeaderList = [("Cache-Control", "max-age=1, stale-if-error=600"), ("Age", "60")]
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.value("X") == nil ? .pattern(BytePattern(), count: Self.count, fields: fields) : .status(500, body: "no")
    }
    try await server.withSession(configure: { $0.urlCache = place.cache(disk: 100_000_000) }) { server, session in
      _ = try await session.data(from: server.url())
      let handle = try FileHandle(forUpdating: try #require(place.bodies.first))
      try handle.write(contentsOf: Data([0xff, 0xff, 0xff, 0xff]))
      try handle.close()
      var request = URLRequest(url: server.url())
      request.setValue("1", forHTTPHeaderField: "X")
      let (data, response) = try await session.data(for: request)
      #expect((response as? HTTPURLResponse)?.statusCode == 500 && data == Data("no".utf8))
    }
  }
}
