import Foundation
import LoopbackServer

@testable import URLLoadingSystem

/// Runs `body` with a server and sessions for connections to it, and proves afterwards that nothing is left open.
@available(*, deprecated)
func withConnections(
  _ handler: @escaping LoopbackServer.Handler, tls: ServerTLS? = nil,
  configure: (URLSessionConfiguration) -> Void = { _ in },
  _ body: (LoopbackServer, ConnectionSessions) async throws -> Void
) async throws {
  let server = try await LoopbackServer.start(tls: tls, handler: handler)
  let configuration = URLSessionConfiguration.loopback
  configure(configuration)
  let sessions = ConnectionSessions(configuration)
  do { try await body(server, sessions) } catch {
    sessions.end()
    await server.shutdown()
    throw error
  }
  sessions.end()
  try await server.expectNoOpenConnections()
  await server.shutdown()
}

extension ConnectionSessions {
  func end() {
    stored.invalidateAndCancel()
    unstored.invalidateAndCancel()
  }
}
