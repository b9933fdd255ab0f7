import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Uploads to a server that reads slowly.
@Suite struct SlowUploadTests {
  /// The request's time-out is shorter than the upload, and than the time the server needs for what a kernel would take
  /// ahead. As long as bytes leave, it does not run out.
  @Test func bytesThatLeaveKeepTheRequestAlive() async throws {
    let size = 6 << 20
    let bytesPerSecond = 256 << 10
    var options = LoopbackServer.Options()
    options.receiveBuffer = 64 << 10
    let server = try await LoopbackServer.startRaw(options: options) { connection in
      _ = try await connection.readHead()
      var read = 0
      while read < size, let bytes = try await connection.read() {
        read += bytes.readableBytes
        try await Task.sleep(for: .milliseconds(bytes.readableBytes * 1000 / bytesPerSecond))
      }
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let session = URLSession(configuration: .loopback)
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    request.timeoutInterval = 10
    let (data, _) = try await session.upload(for: request, from: Data(count: size))
    #expect(String(decoding: data, as: UTF8.self) == "ok")
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    #expect(server.failures.isEmpty)
    await server.shutdown()
  }
}
