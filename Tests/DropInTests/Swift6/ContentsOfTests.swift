import Foundation
import FoundationNetworking
import LoopbackServer
import Testing

/// Foundation's initialisers that wait for the contents of a URL.
@Suite struct ContentsOfTests {
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

  @Test func dataAndStringsAreLoaded() async throws {
    let bytes: [UInt8] = [0x63, 0x61, 0x66, 0xE9]
    try await withServer({ _ in .ok(bytes, type: "text/plain; charset=iso-8859-1") }) { server in
      try expectData(Data(bytes), at: server.url())
      try expectLatin1("caf\u{E9}", at: server.url())
      #expect(server.requests.allSatisfy { $0.method == "GET" })
    }
  }

  private func expectData(_ data: Data, at url: URL) throws {
    #expect(try Data(contentsOf: url) == data)
    #expect(try Data(contentsOf: url, options: .mappedIfSafe) == data)
    #expect(try NSData(contentsOf: url, options: []) as Data == data)
    #expect(NSData(contentsOf: url).map { $0 as Data } == data)
    #expect(NSMutableData(contentsOf: url).map { $0 as Data } == data)
  }

  private func expectLatin1(_ text: String, at url: URL) throws {
    let latin1 = String.Encoding.isoLatin1
    #expect(try String(contentsOf: url, encoding: latin1) == text)
    #expect(throws: CocoaError.self) { try String(contentsOf: url, encoding: .utf8) }
    #expect(try NSString(contentsOf: url, encoding: latin1.rawValue) as String == text)
    var encoding: UInt = 0
    #expect(try NSString(contentsOf: url, usedEncoding: &encoding) as String == text)
    #expect(encoding == latin1.rawValue)
  }

  @Test func failuresAreThrown() async throws {
    try await withServer({ _ in .status(404, body: "none") }) { server in
      let url = server.url()
      #expect(code { try Data(contentsOf: url) } == .fileReadUnknown)
      #expect(code { try String(contentsOf: url, encoding: .utf8) } == .fileReadUnknown)
      #expect(code { try NSData(contentsOf: url, options: []) } == .fileReadUnknown)
      #expect(NSData(contentsOf: url) == nil)
    }
  }

  /// The code of the error that `body` throws; nil when it throws none, or another one.
  private func code(_ body: () throws -> some Any) -> CocoaError.Code? {
    do { _ = try body() } catch { return (error as? CocoaError)?.code }
    return nil
  }

  /// A class that is registered for the shared session sees the request.
  @Test func theSharedSessionLoads() throws {
    final class Answering: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "contents" }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func startLoading() {
        client?.urlProtocol(self, didLoad: Data("mocked".utf8))
        client?.urlProtocolDidFinishLoading(self)
      }
      override func stopLoading() {}
    }
    let url = try #require(URL(string: "contents://host/"))
    #expect(code { try Data(contentsOf: url) } == .fileReadUnsupportedScheme)
    URLProtocol.registerClass(Answering.self)
    defer { URLProtocol.unregisterClass(Answering.self) }
    #expect(try Data(contentsOf: url) == Data("mocked".utf8))
    #expect(try String(contentsOf: url, encoding: .utf8) == "mocked")
    let text = try #require(URL(string: "data:,in%20the%20URL"))
    #expect(try String(contentsOf: text, encoding: .utf8) == "in the URL")
  }

  @Test func filesAreReadByFoundation() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    #expect(code { try Data(contentsOf: file) } == .fileReadNoSuchFile)
    try Data("file".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(try Data(contentsOf: file, options: .alwaysMapped) == Data("file".utf8))
    #expect(try String(contentsOf: file, encoding: .utf8) == "file")
    var encoding = String.Encoding.ascii
    #expect(try String(contentsOf: file, usedEncoding: &encoding) == "file")
  }
}
