import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// When the service has nothing to do.
@Suite struct TransferEngineTests {

  @Test func reportsIdlenessAfterTheIdleTime() async throws {
    try await withEngine({ $0.idleExit = 0.01 }) { fixture in
      try await fixture.idle.wait(within: patience)
    }
  }

  @Test func aConnectedClientPreventsIdleness() async throws {
    try await withEngine({ $0.idleExit = 3 }) { fixture in
      let client = fixture.client()
      try await client.greet()
      await #expect(throws: WaitExpired.self) { () async throws in try await fixture.idle.wait(within: .seconds(4))
      }
      client.disconnect()
      try await fixture.idle.wait(within: patience)
    }
  }
}
