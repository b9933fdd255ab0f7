import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Uploads to a server that reads slowly.
@Suite struct SlowUploadTests {
  private static let size = 8 << 20
  private static let bytesPerSecond = 400 << 10

  /// The request's time-out is shorter than the upload, and than the time the server needs for what a kernel would take
  /// ahead (4 MiB: 10 s). As long as bytes leave, it does not run out.
  ///
  /// The server's buffer is larger than a segment of the loopback device: with less room the kernel sends a part of a
  /// segment only after pauses of many seconds.
  @Test func bytesThatLeaveKeepTheRequestAlive() async throws {
    var options = LoopbackServer.Options()
    options.receiveBuffer = 512 << 10
    let server = try await LoopbackServer.startRaw(options: options) { connection in
      _ = try await connection.readHead()
      var read = 0
      while read < Self.size, let bytes = try await connection.read() {
        read += bytes.readableBytes
        try await Task.sleep(for: .milliseconds(bytes.readableBytes * 1000 / Self.bytesPerSecond))
      }
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let session = URLSession(configuration: .loopback)
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    request.timeoutInterval = 9
    let (data, _) = try await session.upload(for: request, from: Data(count: Self.size))
    #expect(String(decoding: data, as: UTF8.self) == "ok")
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    #expect(server.failures.isEmpty)
    await server.shutdown()
  }
}
