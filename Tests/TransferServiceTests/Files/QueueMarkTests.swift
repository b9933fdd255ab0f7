import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// How long a service waits for a folder that is gone.
@Suite struct QueueMarkTests {
  private let folder: TemporaryFolder
  private let clock = FakeClock()
  private var state: String { folder.path + "/state" }

  init() throws { folder = try TemporaryFolder() }

  private func mark(of state: String? = nil) -> QueueMark {
    QueueMark(socket: folder.path + "/socket", stateFolder: state ?? self.state, clock: clock)
  }

  /// After a service that had its queue there, and whose folder was moved away.
  private func missing() throws -> QueueMark {
    _ = try folder.subfolder("state")
    try mark().set()
    #expect(mark().remainingWait() == nil, "it is there")
    #expect(rename(state, folder.path + "/away") == 0)
    return mark()
  }

  @Test func itIsWaitedForALimitedTime() throws {
    let mark = try missing()
    #expect(mark.remainingWait() == QueueMark.patience)
    clock.advance(by: QueueMark.patience - 1)
    // The next service does not begin the time anew, and the wall clock says nothing.
    clock.setWallClock(forward: 1_000_000)
    #expect(self.mark().remainingWait() == 1)
    clock.advance(by: 1)
    #expect(mark.remainingWait() == nil)
  }

  /// A program that is no service reads why none starts, and its look is no beginning of the time.
  @Test func programsSeeThatItIsWaitedFor() throws {
    func seen() -> TimeInterval? {
      QueueMarkContent.remainingWait(
        socket: folder.path + "/socket", stateFolder: state, queue: "queue.sqlite", clock: clock)
    }
    #expect(seen() == nil, "there is no mark")
    let mark = try missing()
    #expect(seen() == QueueMark.patience)
    clock.advance(by: 5)
    #expect(seen() == QueueMark.patience)
    #expect(mark.remainingWait() == QueueMark.patience)
    clock.advance(by: 5)
    #expect(seen() == QueueMark.patience - 5)
    #expect(rename(folder.path + "/away", state) == 0)
    #expect(seen() == nil, "it is there")
  }

  @Test func anotherStartOfTheMachineWaitsForNone() throws {
    let mark = try missing()
    clock.restartMachine(after: 1)
    #expect(mark.remainingWait() == nil)
  }

  @Test func theMarkSaysNothingOfAnotherFolder() throws {
    _ = try missing()
    #expect(mark(of: folder.path + "/other").remainingWait() == nil)
  }

  @Test func anEmptyFolderInItsPlaceDoesNotCount() throws {
    let mark = try missing()
    _ = try folder.subfolder("state")
    #expect(mark.remainingWait() != nil)
  }

  /// As after a backup was restored, or a copy on another disk was moved back.
  @Test(arguments: ["queue.sqlite", "queue-copy.sqlite", "partial/7"])
  func aFolderWithSomethingOfAQueueCounts(name: String) throws {
    let mark = try missing()
    _ = try folder.subfolder("state/partial")
    try Data("content".utf8).write(to: URL(fileURLWithPath: "\(state)/\(name)"))
    #expect(mark.remainingWait() == nil)
  }

  @Test func itIsWaitedForAnewWhenItWasThere() throws {
    let mark = try missing()
    #expect(mark.remainingWait() != nil)
    clock.advance(by: QueueMark.patience - 1)
    #expect(rename(folder.path + "/away", state) == 0)
    try mark.set()
    #expect(rename(state, folder.path + "/away") == 0)
    #expect(mark.remainingWait() == QueueMark.patience)
    try mark.remove()
    #expect(mark.remainingWait() == nil)
  }
}
