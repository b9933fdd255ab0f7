import Dispatch
import EveryVersion
import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// A download whose disk does not keep up.
@Suite struct SlowDiskTests {
  /// The disk stands still: the server can send what the buffers on the way hold, and no more.
  @Test(.overHTTP1To3) func aDiskThatStandsStillSlowsTheServer() async throws {
    let size: Int64 = 96 << 20
    let file = FileResource(size: size)
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { file.reply(to: $0) }
    let url = server.url("/file")
    let place = try JournalledPlace(url)
    let hold = DispatchSemaphore(value: 0)
    place.diskHold = hold
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    let transport = HTTPTransport(configuration: configuration.transport)
    async let end = DownloadTry(in: place, configuration).run(URLRequest(url: url), over: transport)
    try await eventually("bytes to come") { file.bytesSent > 0 }
    try await stopsMoving { file.bytesSent }
    // 8 MiB that are not committed, the connection's read-ahead, and both sockets' buffers.
    #expect(file.bytesSent < 32 << 20)
    for _ in 0..<2 { hold.signal() }
    guard case .complete(let path, _) = try await end else {
      Issue.record("The download did not end well.")
      return
    }
    #expect(file.version.pattern.difference(toFile: path, count: size) == nil)
    transport.shutDown()
    try await place.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
