import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Bytes and lines of URLs, which the shared session loads.
@Suite struct URLAsyncBytesTests {
  private func withServer(
    _ handler: @escaping LoopbackServer.Handler, _ body: (LoopbackServer) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(handler: handler)
    do { try await body(server) } catch {
      await server.shutdown()
      throw error
    }
    await server.shutdown()
  }

  @Test func eachIterationLoadsTheResource() async throws {
    try await withServer({ _ in .chunked(["one\r\ntw", "o\n\n", "thr\u{E9}e"]) }) { server in
      let bytes: URL.AsyncBytes = server.url().resourceBytes
      let lines: AsyncLineSequence<URL.AsyncBytes> = server.url().lines
      #expect(server.requests.isEmpty)
      let (count, texts) = (try await bytes.reduce(0) { count, _ in count + 1 }, try await lines.collected())
      #expect(count == Array("one\r\ntwo\n\nthr\u{E9}e".utf8).count && texts == ["one", "two", "thr\u{E9}e"])
      let again = try await lines.first { _ in true }
      #expect(again == "one" && server.requests.count == 3)
    }
  }

  @Test func errorsAreThoseOfTheSession() async throws {
    try await withServer({ $0.target == "/missing" ? .status(404, body: "none") : .truncated(declared: 9, sent: 3) }) {
      server in
      var count = 0
      let error = await #expect(throws: URLError.self) {
        for try await _ in server.url().resourceBytes { count += 1 }
      }
      #expect(error?.code == .networkConnectionLost && count == 3)
      // A status is no error.
      let lines = try await server.url("/missing").lines.collected()
      #expect(lines == ["none"])
    }
    let unsupported = try #require(URL(string: "gopher://host/"))
    let error = await #expect(throws: URLError.self) { try await unsupported.lines.collected() }
    #expect(error?.code == .unsupportedURL)
  }

  @Test func filesAreRead() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("first\nsecond".utf8).write(to: file)
    #expect(try await file.resourceBytes.reduce(0) { count, _ in count + 1 } == 12)
    #expect(try await file.lines.collected() == ["first", "second"])
    try FileManager.default.removeItem(at: file)
    let error = await #expect(throws: URLError.self) { try await file.lines.collected() }
    #expect(error?.code == .fileDoesNotExist)
  }
}

extension AsyncSequence {
  fileprivate func collected() async throws -> [Element] { try await reduce(into: []) { $0.append($1) } }
}
