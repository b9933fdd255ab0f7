import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

@Suite struct RunMarksTests {
  private func marks(_ directory: String, _ disk: FaultyFileSystem = .init(), bootID: String = "a.b") -> RunMarks {
    RunMarks(directory: directory, disk: disk, bootID: bootID)
  }

  @Test func onlyThoseOfThisStartOfTheMachineCount() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    let own = marks(directory)
    for id: TransferID in [1, 2, 3] { try own.set(id) }
    try own.clear(2)
    try marks(directory, bootID: "other").set(4)
    try folder.leaveFile("running/x")
    #expect(try marks(directory).takeAll() == [1, 3])
    #expect(try marks(directory).takeAll() == [] && marks(directory, bootID: "other").takeAll() == [])
  }

  @Test func placesAreUsedAgain() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    let own = marks(directory)
    for id: TransferID in 1...1_000 {
      try own.set(id)
      try own.set(id)
      if id > 3 { try own.clear(id - 3) }
      if id > 3 { try own.clear(id - 3) }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory + "/a.b")).count <= 4 * 8)
    #expect(try marks(directory).takeAll() == [998, 999, 1_000])
  }

  /// The place is not lost, and no other transfer is taken for it.
  @Test func aMarkThatIsNotWrittenIsTriedAgain() throws {
    let (folder, disk) = (try TemporaryFolder(), FaultyFileSystem())
    let directory = try folder.subfolder("running")
    let own = marks(directory, disk)
    try own.set(1)
    disk.set([.init(.write, code: EIO, times: 2)])
    #expect(throws: (any Error).self) { try own.set(2) }
    #expect(throws: (any Error).self) { try own.clear(1) }
    try own.set(3)
    try own.clear(1)
    try own.set(2)
    #expect(try marks(directory).takeAll() == [2, 3])
  }

  @Test func aFolderThatIsGoneIsMadeAgain() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    func removed() throws { try FileManager.default.removeItem(atPath: directory) }
    func written() -> Set<TransferID> { Set(RunMarks.transfers(in: directory + "/a.b")) }
    let own = marks(directory)
    for id: TransferID in [1, 2, 3] { try own.set(id) }
    try removed()
    try own.clear(2)
    #expect(written() == [1, 3])
    try removed()
    try own.set(4)
    #expect(written() == [1, 3, 4])
    try removed()
    try own.renew()
    #expect(written() == [1, 3, 4])
    try PrivateDirectory.check(directory)
    try removed()
    try own.clear(4)
    #expect(try marks(directory).takeAll() == [1, 3])
  }

  /// The service does not begin a folder anew whose queue is gone.
  @Test func thoseOfAServiceFolderThatIsMadeAgainAreWrittenAgain() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("state/running")
    let state = folder.path + "/state"
    let own = marks(directory)
    for id: TransferID in [1, 2, 3] { try own.set(id) }
    try FileManager.default.removeItem(atPath: state)
    #expect(throws: (any Error).self) { try own.clear(2) }
    #expect(throws: (any Error).self) { try own.set(4) }
    #expect(throws: (any Error).self) { try own.renew() }
    #expect(!FileManager.default.fileExists(atPath: state))
    _ = try folder.subfolder("state")
    try own.renew()
    #expect(Set(RunMarks.transfers(in: directory + "/a.b")) == [1, 3], "the second is over")
  }

  /// The file of an earlier service could not be removed.
  @Test func thoseThatStayInTheFileDoNotCount() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    let earlier = marks(directory)
    for id: TransferID in [1, 2, 3] { try earlier.set(id) }
    let own = marks(directory)
    for id: TransferID in [8, 9] { try own.set(id) }
    try own.clear(8)
    #expect(try marks(directory).takeAll() == [9])
  }

  /// An earlier version had a file for each.
  @Test func thoseOfAnEarlierVersionCount() throws {
    let folder = try TemporaryFolder()
    let directory = try folder.subfolder("running")
    for name in ["7.a.b", "8.other", "x.a.b"] { try folder.leaveFile("running/\(name)") }
    try marks(directory).set(9)
    #expect(try marks(directory).takeAll() == [7, 9])
    #expect(try folder.subfolder("running") == directory)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
  }

  /// It would count at each start.
  @Test func aMarkThatStaysDoesNotCount() throws {
    let folder = try TemporaryFolder()
    let own = marks(try folder.subfolder("running"))
    for id: TransferID in [1, 3] { try own.set(id) }
    _ = try folder.subfolder("running/2.a.b")
    var failed: [String] = []
    #expect(try own.takeAll { name, _ in failed.append(name) } == [1, 3])
    #expect(failed == ["2.a.b"])
  }
}
