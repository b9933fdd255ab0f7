import Foundation
import LoopbackServer
import Synchronization
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

  /// Once behind the last request, each time.
  @Test func theServiceRestsWithoutTransfersAndRequests() async throws {
    let rests = Mutex(0)
    try await withEngine({
      $0.restPatience = 0.01
      $0.rests = { rests.withLock { $0 += 1 } }
    }) { fixture in
      let client = fixture.client()
      try await client.greet()
      try await eventually("a rest") { rests.withLock(\.self) > 0 }
      let before = rests.withLock(\.self)
      try await client.begin()
      try await eventually("another rest") { rests.withLock(\.self) > before }
    }
  }

  @Test func aServiceWithTransfersDoesNotRest() async throws {
    let rests = Mutex(0)
    try await withEngine({
      $0.restPatience = 0
      $0.rests = { rests.withLock { $0 += 1 } }
    }) { fixture in
      let client = fixture.client()
      try await client.begin()
      var later = TransferDescription.download("http://127.0.0.1:1/never")
      later.earliestBeginDate = fixture.clock.date + 3_600
      #expect(try await client.create([later]).count == 1)
      fixture.engine.queue.sync {}
      let before = rests.withLock(\.self)
      for _ in 0..<10 { fixture.engine.enter { _ in } }
      fixture.engine.queue.sync {}
      #expect(rests.withLock(\.self) == before)
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
