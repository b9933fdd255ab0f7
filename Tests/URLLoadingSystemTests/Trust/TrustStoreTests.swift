import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct TrustStoreTests {
  /// A bundle may be missing for a moment, while it is updated.
  @Test func aBundleThatCouldNotBeReadIsReadAgain() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("trust-\(UUID().uuidString).pem")
    defer { try? FileManager.default.removeItem(at: file) }
    let store = TrustStore.of(.file(file.path))
    let before = await store.certificates()
    #expect(before.isEmpty)
    try FileManager.default.copyItem(atPath: try TestCertificates.shared().authorityFile, toPath: file.path)
    let after = await store.certificates()
    #expect(!after.isEmpty)
  }
}
