import Foundation
import LoopbackServer
import URLLoadingSystem

extension LoopbackServer {
  /// Runs `body` with a session that trusts the server, ends both whatever becomes of it, and sees to it that no
  /// connection is left open.
  func withSession(
    configure: (URLSessionConfiguration) -> Void, _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let configuration = URLSessionConfiguration.loopback
    configure(configuration)
    let session = URLSession(configuration: configuration)
    do { try await body(self, session) } catch {
      session.invalidateAndCancel()
      await shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await expectNoOpenConnections()
    await shutdown()
  }
}
