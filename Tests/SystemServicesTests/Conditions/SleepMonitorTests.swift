import Foundation
import RealServers
import Testing

@testable import SystemServices

@Suite struct SleepMonitorTests {
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func logindTellsOfSleepAndWaitsForTheService() async throws {
    let mock = try await MockMachine.start()
    let monitor = SleepMonitor(address: mock.address)
    let (changes, changed) = AsyncStream.makeStream(of: SleepChange.self)
    monitor.start { changed.yield($0) }
    var iterator = changes.makeAsyncIterator()
    try await MockMachine.awaitSleepLocks(1, mock)
    for _ in 0..<2 {
      try await MockMachine.tellSleep(true, mock)
      guard case .falls(let ready)? = await iterator.next() else {
        Issue.record("it was not told of the sleep")
        break
      }
      try await MockMachine.awaitSleepLocks(1, mock)
      ready()
      try await MockMachine.awaitSleepLocks(0, mock)
      try await MockMachine.tellSleep(false, mock)
      guard case .ended? = await iterator.next() else {
        Issue.record("it was not told of the waking")
        break
      }
      // For the next sleep.
      try await MockMachine.awaitSleepLocks(1, mock)
    }
    monitor.stop()
    try await MockMachine.awaitSleepLocks(0, mock)
    await mock.stop()
  }

  /// Any process may send such a signal to the connection.
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func onlyLogindIsBelieved() async throws {
    let mock = try await MockMachine.start()
    let monitor = SleepMonitor(address: mock.address)
    let (changes, changed) = AsyncStream.makeStream(of: SleepChange.self)
    monitor.start { changed.yield($0) }
    var iterator = changes.makeAsyncIterator()
    try await MockMachine.awaitSleepLocks(1, mock)
    try await MockMachine.tellSleepAsAnother(mock)
    try await MockMachine.tellSleep(false, mock)
    guard case .ended? = await iterator.next() else {
      Issue.record("another process was believed")
      return
    }
    monitor.stop()
    await mock.stop()
  }

  @Test func withoutABusNothingIsTold() async throws {
    let monitor = SleepMonitor(address: "unix:path=/nonexistent/bus")
    monitor.start { _ in Issue.record("there is nothing to tell") }
    monitor.stop()
    monitor.start { _ in Issue.record("there is nothing to tell") }
  }
}
