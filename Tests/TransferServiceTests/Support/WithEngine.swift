import Foundation
import Logging
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Runs `body` with the service's engine. However `body` ends, the engine is shut down, and with it the lives that
/// followed it; when `body` succeeds, they must have left nothing behind.
func withEngine(
  in folder: TemporaryFolder? = nil, clock: FakeClock = FakeClock(), disk: FaultyFileSystem = FaultyFileSystem(),
  runner: (any DownloadRunning)? = nil, secrets: (any SecretStore)? = nil, log: Logger? = nil,
  _ change: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
  _ body: (EngineFixture) async throws -> Void
) async throws {
  let fixture = try EngineFixture(
    folder: folder, clock: clock, disk: disk, runner: runner, secrets: secrets, log: log, change)
  do { try await body(fixture) } catch {
    await fixture.shutDown()
    throw error
  }
  await fixture.shutDown()
  for life in fixture.lives { life.expectNothingLeft() }
}

/// Runs `body` with the engine and a server, and proves afterwards that no connection was left open.
func withEngine(
  serving handler: @escaping LoopbackServer.Handler, clock: FakeClock = FakeClock(),
  _ change: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
  _ body: (EngineFixture, LoopbackServer) async throws -> Void
) async throws {
  try await withServer(handler) { server in
    try await withEngine(clock: clock, change) { fixture in try await body(fixture, server) }
  }
}

/// With a server that has one file.
func withEngine(
  serving resource: FileResource, clock: FakeClock = FakeClock(),
  _ change: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
  _ body: (EngineFixture, LoopbackServer) async throws -> Void
) async throws {
  try await withEngine(serving: { resource.reply(to: $0) }, clock: clock, change, body)
}

/// Runs `body` with a server, and proves afterwards that no connection was left open.
func withServer(
  _ handler: @escaping LoopbackServer.Handler, _ body: (LoopbackServer) async throws -> Void
) async throws {
  let server = try await LoopbackServer.start(handler: handler)
  do {
    try await body(server)
    try await server.expectNoOpenConnections()
  } catch {
    await server.shutdown()
    throw error
  }
  await server.shutdown()
}
