import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// The idle timer of a request while its body is on its way. The tests count the bytes themselves, so that no speed of a
/// machine or a kernel is part of them.
@Suite struct HTTPUploadTests {
  private static let size = 8 << 20
  private static let idleTimeout = 0.4

  /// Uploads to a server that reads nothing before `mayRead` is open, or the request over.
  private func upload(mayRead: Gate, counting count: @escaping @Sendable () -> UInt64) async throws -> String {
    var options = LoopbackServer.Options()
    options.receiveBuffer = 64 << 10
    let server = try await LoopbackServer.startRaw(options: options) { connection in
      _ = try await connection.readHead()
      try await mayRead.wait()
      var read = 0
      while read < Self.size, let bytes = try await connection.read() { read += bytes.readableBytes }
      try? await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let configuration = URLSessionConfiguration.loopback
    configuration.countSentBytes = SentBytesCounter(name: "test") { _ in
      SentBytes(acknowledged: count(), outstanding: 1 << 20)
    }
    let session = URLSession(configuration: configuration)
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    request.timeoutInterval = Self.idleTimeout
    let result: Result<String, any Error>
    do {
      let (data, _) = try await session.upload(for: request, from: Data(count: Self.size))
      result = .success(String(decoding: data, as: UTF8.self))
    } catch { result = .failure(error) }
    mayRead.open()
    session.invalidateAndCancel()
    await server.shutdown()
    return try result.get()
  }

  /// For three time-outs the peer acknowledges a byte between any two looks, and reads no more than that.
  @Test func bytesThatAreAcknowledgedKeepTheRequestAlive() async throws {
    let (looks, mayRead) = (Monitor<UInt64>(0), Gate())
    let answer = try await upload(mayRead: mayRead) {
      let count = looks.update {
        $0 += 1
        return $0
      }
      if count == 12 { mayRead.open() }
      return count
    }
    #expect(answer == "ok")
  }

  @Test func aPeerThatTakesNothingEndsTheRequest() async throws {
    let error = await #expect(throws: URLError.self) { _ = try await upload(mayRead: Gate()) { 1 } }
    #expect(error?.code == .timedOut)
  }
}
