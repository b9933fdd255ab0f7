import Foundation
import Testing
import TransferService

@Suite struct WorkerEndTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let signal: Int32?
    var hung = false
    var ranOutOfMemory: Bool? = false
    let end: WorkerEnd
  }

  static let rows: [Row] = [
    Row(testDescription: "a failure of its own", signal: nil, end: .crashed),
    Row(testDescription: "a signal of another process", signal: SIGKILL, end: .killed),
    Row(testDescription: "a request to end that it did not follow", signal: SIGTERM, end: .killed),
    Row(testDescription: "the kernel, for want of memory", signal: SIGKILL, ranOutOfMemory: true, end: .crashed),
    Row(testDescription: "perhaps the kernel", signal: SIGKILL, ranOutOfMemory: nil, end: .crashed),
    Row(testDescription: "the supervisor, since it hung", signal: SIGKILL, hung: true, end: .crashed),
  ]

  @Test(arguments: rows) func theSupervisorTells(_ row: Row) {
    #expect(WorkerEnd(signal: row.signal, hung: row.hung, ranOutOfMemory: row.ranOutOfMemory) == row.end)
  }

  /// Of workers in a row: its signal, and whether it served.
  struct History: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let workers: [(signal: Int32?, served: Bool)]
    let last: WorkerEnd?
  }

  static let histories: [History] = [
    History(testDescription: "one that was killed", workers: [(SIGKILL, true)], last: .killed),
    History(
      testDescription: "one that was killed, and two that could not be started",
      workers: [(SIGKILL, true), (nil, false), (nil, false)], last: .killed),
    History(
      testDescription: "one that was killed, and one that served and failed", workers: [(SIGKILL, true), (nil, true)],
      last: .crashed),
    History(
      testDescription: "one that was killed, and one that crashed before it served",
      workers: [(SIGKILL, true), (SIGSEGV, false)], last: .crashed),
    History(
      testDescription: "one that crashed, and one that could not be started", workers: [(SIGSEGV, true), (nil, false)],
      last: .crashed),
    History(testDescription: "one that could not be started", workers: [(nil, false)], last: nil),
  ]

  @Test(arguments: histories) func theNextWorkerIsToldOfTheLastEndThatSaysSomething(_ history: History) {
    var ends = WorkerEnds()
    for worker in history.workers {
      ends.begin()
      if worker.served { ends.serves() }
      ends.ended(signal: worker.signal, hung: false, ranOutOfMemory: false)
    }
    #expect(ends.last == history.last)
  }

  @Test(arguments: [SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE, SIGTRAP, SIGSYS]) func faultsAreCrashes(_ signal: Int32) {
    #expect(WorkerEnd(signal: signal, hung: false, ranOutOfMemory: false) == .crashed)
  }
}
