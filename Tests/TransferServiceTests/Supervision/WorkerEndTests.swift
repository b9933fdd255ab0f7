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

  @Test(arguments: [SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE, SIGTRAP, SIGSYS]) func faultsAreCrashes(_ signal: Int32) {
    #expect(WorkerEnd(signal: signal, hung: false, ranOutOfMemory: false) == .crashed)
  }
}
