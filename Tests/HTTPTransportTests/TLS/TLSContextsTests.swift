import Foundation
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct TLSContextsTests {
  /// The store of authorities is a pipe, so that reading it waits for the test.
  @Test func theLoopGoesOnWhileTheAuthoritiesAreRead() async throws {
    let authorities = try Data(contentsOf: URL(fileURLWithPath: TestCertificates.shared().authorityFile))
    let pipe = NSTemporaryDirectory() + "authorities-\(UUID().uuidString)"
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { unlink(pipe) }
    let server = try await LoopbackServer.start(tls: ServerTLS.localhost()) { _ in .ok("ok") }
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(pipe)
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    let load = Task { [configuration] in
      try await TransportOnLoop.run(configuration) { loop in try await loop.load(key) }
    }
    var writer: Int32 = -1
    try await eventually("the store to be opened") {
      writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    // Something reads: whatever it is, every loop goes on.
    let turned = LoopExecutor.all.map { _ in Gate() }
    for (executor, gate) in zip(LoopExecutor.all, turned) { executor.loop.execute { gate.open() } }
    var isTurning = true
    for gate in turned where isTurning { isTurning = (try? await gate.wait(within: patience)) != nil }
    let written = authorities.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
    close(writer)
    #expect(isTurning && written == authorities.count)
    let answer = try await load.value
    #expect(answer.status == 200 && answer.body == "ok")
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
