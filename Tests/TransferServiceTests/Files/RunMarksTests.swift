import SystemFakes
import Testing

@testable import TransferService

@Suite struct RunMarksTests {
  @Test func onlyThoseOfThisStartOfTheMachineCount() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    func marks(_ bootID: String) -> RunMarks {
      RunMarks(directory: directory, disk: FaultyFileSystem(), bootID: bootID)
    }
    for id: TransferID in [1, 2, 3] { try marks("a.b").set(id) }
    try marks("a.b").clear(2)
    try marks("other").set(4)
    try folder.leaveFile("running/x")
    #expect(try marks("a.b").takeAll() == [1, 3])
    #expect(try marks("a.b").takeAll() == [] && marks("other").takeAll() == [])
  }

  /// It would count at each start.
  @Test func aMarkThatStaysDoesNotCount() throws {
    let folder = try TemporaryFolder()
    let marks = RunMarks(directory: try folder.subfolder("running"), disk: FaultyFileSystem(), bootID: "a")
    for id: TransferID in [1, 3] { try marks.set(id) }
    _ = try folder.subfolder("running/2.a")
    var failed: [String] = []
    #expect(try marks.takeAll { name, _ in failed.append(name) } == [1, 3])
    #expect(failed == ["2.a"])
  }
}
