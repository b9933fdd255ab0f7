import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The next try of a transfer as it stands in the queue, and as other versions of the service read it.
@Suite struct PlannedTryTests {
  private static let instant = DurableInstant(
    bootID: "b", nanoseconds: 5_000_000_000, wall: 1_700_000_000.5, counted: nil)
  static let kinds: [PlannedTry.Kind] = [
    .failure, .busyServer(status: 503, keepsBytes: true), .busyServer(status: 429, keepsBytes: false), .storage,
  ]

  @Test(arguments: kinds) func everyKindIsReadAgain(_ kind: PlannedTry.Kind) throws {
    let planned = PlannedTry(Self.instant, kind)
    let json = try MessageFraming.encode(planned)
    #expect(try MessageFraming.decode(PlannedTry.self, from: json) == planned)
    // As a part of a change of the queue, which `Codable` writes and reads.
    let change = QueueChange.retry(.init(transfer: 1, failures: 2, sentence: "It was busy.", instant: planned))
    #expect(try MessageFraming.decode(QueueChange.self, from: MessageFraming.encode(change)) == change)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    #expect(try encoder.encode(planned) == json)
  }

  /// Earlier versions stored the time alone.
  @Test func theTimeStandsWhereEarlierVersionsHaveIt() throws {
    let json = try MessageFraming.encode(Self.instant)
    #expect(try MessageFraming.decode(PlannedTry.self, from: json) == PlannedTry(Self.instant))
    for kind in Self.kinds {
      let json = try MessageFraming.encode(PlannedTry(Self.instant, kind))
      #expect(try MessageFraming.decode(DurableInstant.self, from: json) == Self.instant)
    }
  }

  struct Wait: Sendable {
    let kind: PlannedTry.Kind
    let seconds: TimeInterval
    let left: TimeInterval
  }

  private static let busy = PlannedTry.Kind.busyServer(status: 503, keepsBytes: true)
  static let waits = [
    Wait(kind: .failure, seconds: 100, left: 100), Wait(kind: .failure, seconds: 3_600, left: 600),
    Wait(kind: .storage, seconds: 3_600, left: 600), Wait(kind: busy, seconds: 100, left: 100),
    Wait(kind: busy, seconds: 3_600, left: 3_600), Wait(kind: busy, seconds: 999_999, left: 86_400),
  ]

  /// The wall clock is believed within what a server may ask for.
  @Test(arguments: waits) func aRestartOfTheMachineLeavesTheWait(_ wait: Wait) {
    let clock = FakeClock()
    let planned = PlannedTry(DurableInstant(clock.now + wait.seconds, clock: clock), wait.kind)
    clock.restartMachine(after: 0)
    let delay = planned.delay(because: "It broke.", failures: 0, on: clock)
    #expect(abs(delay.remaining(now: clock.now, date: clock.date) - wait.left) < 0.01)
    switch wait.kind {
    case .failure: #expect(delay.reason == .retry(because: "It broke.", failures: 1))
    case .busyServer(let status, let keeps): #expect(delay.reason == .serverBusy(status: status, keepsBytes: keeps))
    case .storage: #expect(delay.reason == .storageUnavailable(because: "It broke."))
    }
  }
}
