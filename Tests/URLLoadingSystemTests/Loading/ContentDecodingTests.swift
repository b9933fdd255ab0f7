import CZlib
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct ContentDecodingTests {
  enum Wrapping: Int32, CaseIterable { case gzip = 31, zlib = 15, raw = -15 }

  static func compress(_ bytes: [UInt8], _ wrapping: Wrapping) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
      &stream, 6, Z_DEFLATED, wrapping.rawValue, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: bytes.count + 1024)
    let capacity = output.count
    let used = input.withUnsafeMutableBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(capacity)
        deflate(&stream, Z_FINISH)
        return capacity - Int(stream.avail_out)
      }
    }
    return Array(output[..<used])
  }

  private func load(_ reply: Reply) async throws -> (Data, HTTPURLResponse) {
    let server = try await LoopbackServer.start { _ in reply }
    let session = URLSession(configuration: .ephemeral)
    let result: Result<(Data, URLResponse), any Error>
    do { result = .success(try await session.data(from: server.url())) } catch { result = .failure(error) }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    let (data, response) = try result.get()
    return (data, try #require(response as? HTTPURLResponse))
  }

  @Test(arguments: [("gzip", Wrapping.gzip), ("x-gzip", .gzip), ("deflate", .zlib), ("deflate", .raw)])
  func aCodedBodyIsDecoded(_ coding: String, _ wrapping: Wrapping) async throws {
    let plain = BytePattern().bytes(count: 300_000) + [UInt8](repeating: 7, count: 3_000_000)
    let coded = Self.compress(plain, wrapping)
    let (data, response) = try await load(.ok(coded, fields: [("Content-Encoding", coding)]))
    #expect(data == Data(plain))
    #expect(response.expectedContentLength == -1)
    #expect(response.value(forHTTPHeaderField: "Content-Encoding") == coding)
  }

  @Test func codingsAreUndoneInReverse() async throws {
    let plain = Array("twice".utf8)
    let coded = Self.compress(Self.compress(plain, .zlib), .gzip)
    let (data, _) = try await load(.ok(coded, fields: [("Content-Encoding", "deflate, gzip")]))
    #expect(data == Data(plain))
  }

  @Test func membersFollowEachOther() async throws {
    let coded = Self.compress(Array("one ".utf8), .gzip) + Self.compress(Array("two".utf8), .gzip)
    let (data, _) = try await load(.ok(coded, fields: [("Content-Encoding", "gzip")]))
    #expect(String(decoding: data, as: UTF8.self) == "one two")
  }

  @Test func aCodingNobodyAskedForIsHandedOver() async throws {
    let (data, _) = try await load(.ok("as it is", fields: [("Content-Encoding", "exotic")]))
    #expect(String(decoding: data, as: UTF8.self) == "as it is")
  }

  @Test func anEmptyBodyIsNoTruncatedOne() async throws {
    let (data, _) = try await load(.status(200, fields: [("Content-Encoding", "gzip")]))
    #expect(data.isEmpty)
  }

  @Test(arguments: ["cut", "corrupt", "not coded at all"])
  func whatCanNotBeDecodedIsAnError(_ fault: String) async throws {
    var coded = Self.compress(BytePattern().bytes(count: 200_000), .gzip)
    switch fault {
    case "cut": coded = Array(coded.dropLast(1_000))
    case "corrupt": coded[coded.count / 2] ^= 0xff
    default: coded = Array("plain text".utf8)
    }
    let reply = Reply.ok(coded, fields: [("Content-Encoding", "gzip")])
    let error = await #expect(throws: URLError.self) { _ = try await load(reply) }
    #expect(error?.code == .cannotDecodeRawData)
  }

  /// Each layer costs memory: a server can't have as many as it likes.
  @Test func layersAreLimited() async throws {
    let names = Array(repeating: "gzip", count: 6).joined(separator: ", ")
    let reply = Reply.ok("x", fields: [("Content-Encoding", names)])
    let error = await #expect(throws: URLError.self) { _ = try await load(reply) }
    #expect(error?.code == .cannotDecodeRawData)
  }
}
