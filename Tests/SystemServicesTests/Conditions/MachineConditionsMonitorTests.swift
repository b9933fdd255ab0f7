import Foundation
import RealServers
import Testing

@testable import SystemServices

@Suite struct MachineConditionsMonitorTests {
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func theServicesOfTheMachineAreReadAndFollowed() async throws {
    let mock = try await MockMachine.start()
    let monitor = MachineConditionsMonitor(address: mock.address)
    #expect(monitor.conditions == nil)
    let (changes, changed) = AsyncStream.makeStream(of: Void.self)
    monitor.start { changed.yield() }
    var iterator = changes.makeAsyncIterator()
    await iterator.next()
    let first = try #require(monitor.conditions)
    #expect(first.isConnected == true && first.network == .cellular)
    #expect(first.isOnBattery == false && first.isBatteryLow == true && first.isUserIdle == true)
    #expect(first.load != nil && first.unknown.isEmpty)

    try await MockMachine.make(.isOnBattery, mock)
    await iterator.next()
    #expect(monitor.conditions?.isOnBattery == true && monitor.conditions?.network == .cellular)

    // The bus goes: nothing that it told counts any more.
    await mock.stop()
    await iterator.next()
    #expect(monitor.conditions?.isOnBattery == nil && monitor.conditions?.unknown.count == 3)
    monitor.stop()
    #expect(monitor.conditions == nil)
  }

  @Test func withoutABusNothingIsKnown() async throws {
    let monitor = MachineConditionsMonitor(address: "unix:path=/nonexistent/bus")
    let (changes, changed) = AsyncStream.makeStream(of: Void.self)
    monitor.start { changed.yield() }
    var iterator = changes.makeAsyncIterator()
    await iterator.next()
    let conditions = try #require(monitor.conditions)
    #expect(conditions.unknown.count == 3 && conditions == MachineConditions())
    monitor.stop()
  }
}
