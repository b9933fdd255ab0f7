import Foundation
import GRDB
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A queue whose file is removed, emptied or damaged between two lives of the service.
@Suite struct LostQueueTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private var queuePath: String { "\(folder.path)/\(TransferStore.fileName)" }
  private var copyPath: String { "\(folder.path)/\(QueueCopy.fileName)" }

  enum Fault: CaseIterable {
    case removed, emptied, zeroed, cutInHalf, garbageInTheMiddle, otherFile
  }

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
  }

  private func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func damage(_ path: String, _ fault: Fault) throws {
    let url = URL(fileURLWithPath: path)
    var bytes = try Data(contentsOf: url)
    for suffix in ["-wal", "-shm"] { try files.disk.remove(path + suffix) }
    switch fault {
    case .removed: return try files.disk.remove(path)
    case .emptied: bytes = Data()
    case .zeroed: bytes = Data(count: bytes.count)
    case .cutInHalf: bytes = bytes.prefix(bytes.count / 2)
    case .garbageInTheMiddle:
      let middle = 4_096..<bytes.count - 4_096
      bytes.replaceSubrange(middle, with: Data(repeating: 0xa5, count: middle.count))
    case .otherFile: bytes = Data("a letter to a friend".utf8)
    }
    try bytes.write(to: url)
  }

  /// Transfer 1 is over, with a file and events; 2 has received 5 bytes; 3 is complete, and its end is not written.
  private func leaveQueue(copied: Bool) throws {
    let store = try TransferStore.open(in: folder.path)
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let ids = try store.create(
      (1...3).map { .init(.download("http://h/\($0)", task: $0), host: "http://h:80") }, session: session.id,
      date: Date()
    ).ids
    try store.finish(ids[0], hasFile: true, completion: StoreFixture.completion(), date: Date())
    for id in ids.dropFirst() {
      let response = ResponseSummary(url: "http://h/", status: 200)
      try store.commit(
        offset: 5, representation: .init(response: response, validator: nil, expectedTotal: id == ids[1] ? 9 : 5),
        of: id)
    }
    for name in ["complete/1", "partial/2", "complete/3"] { try folder.leaveFile(name) }
    if copied { try store.copyIfChanged() }
    try store.checkpoint()
    try store.close()
  }

  @Test(arguments: Fault.allCases) func nothingOfALostQueueIsDeleted(fault: Fault) throws {
    try leaveQueue(copied: false)
    try damage(queuePath, fault)
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    for name in ["complete/1", "partial/2", "complete/3", "reason.txt"] {
      #expect(has("\(quarantine.path)/\(name)"), "\(name) is gone")
    }
    #expect(has("\(quarantine.path)/\(TransferStore.fileName)") == (fault != .removed))
    #expect(try store.unfinishedHeads() == [])
    try store.close()
    let next = try TransferStore.open(in: folder.path)
    #expect(next.quarantine == nil)
    try next.close()
  }

  @Test(arguments: Fault.allCases) func theCopyTakesThePlaceOfALostQueue(fault: Fault) throws {
    try leaveQueue(copied: true)
    try damage(queuePath, fault)
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(quarantine.contents.contains("copy"))
    // What was finished is still told, and its file is where it was.
    let session = try #require(try store.liveSessions().first)
    #expect(try store.events(of: session.id, after: 0, limit: 9).map(\.taskIdentifier) == [1, 1])
    #expect(has(files.complete(1)) && has(files.complete(3)))
    // Bytes that may be of another version since are not counted, and not deleted.
    let heads = try store.unfinishedHeads()
    #expect(heads.map(\.id) == [2, 3] && heads.map(\.committedOffset) == [0, 5])
    #expect(!has(files.partial(2)) && has("\(quarantine.path)/partial/2"))
    #expect(has("\(quarantine.path)/\(TransferStore.fileName)") == (fault != .removed))
    #expect(!has("\(folder.path)/restoration"))
    try store.close()
    #expect(try TransferStore.open(in: folder.path).quarantine == nil)
  }

  /// As the key's, they are mended.
  @Test(arguments: [0o000, 0o400, 0o644] as [mode_t]) func thePermissionsOfOurOwnFilesAreMended(mode: mode_t) throws {
    try leaveQueue(copied: true)
    let names = [TransferStore.fileName, QueueCopy.fileName]
    for name in names { #expect(chmod("\(folder.path)/\(name)", mode) == 0) }
    var sentences: [String] = []
    let store = try TransferStore.open(in: folder.path) { sentences.append($0) }
    #expect(try store.quarantine == nil && store.unfinishedHeads().map(\.id) == [2, 3])
    for name in names {
      var status = stat()
      #expect(lstat("\(folder.path)/\(name)", &status) == 0 && status.st_mode & 0o7777 == 0o600)
      #expect(sentences.count { $0.hasPrefix("\(folder.path)/\(name) was open to others or closed") } == 1)
    }
    try store.close()
    sentences = []
    try TransferStore.open(in: folder.path) { sentences.append($0) }.close()
    #expect(sentences == [])
  }

  enum Other: CaseIterable {
    case folder, pipe, linkToNothing, linkToAFolder, linkToItself

    func make(at path: String) throws {
      let result =
        switch self {
        case .folder: mkdir(path, 0o700)
        case .pipe: mkfifo(path, 0o600)
        case .linkToNothing: symlink("/nothing/queue", path)
        case .linkToAFolder: symlink("/", path)
        case .linkToItself: symlink(path, path)
        }
      if result != 0 { throw SystemError(errno, "make", path: path) }
    }
  }

  @Test(arguments: Other.allCases) func whatIsNoFileIsSetAsideAndTheCopyIsUsed(other: Other) throws {
    try leaveQueue(copied: true)
    // The second name of the copy has the copy.
    for path in [queuePath, copyPath] {
      try files.disk.remove(path)
      try other.make(at: path)
    }
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(quarantine.reason.contains("no file") && quarantine.contents.contains("copy"))
    var status = stat()
    #expect(lstat("\(quarantine.path)/\(TransferStore.fileName)", &status) == 0 && status.st_mode & S_IFMT != S_IFREG)
    #expect(try store.unfinishedHeads().map(\.id) == [2, 3])
    #expect(has(files.complete(1)) && has(files.complete(3)))
    #expect(!QueueFile.isNoFile(copyPath) && has(copyPath))
    try store.close()
    let next = try TransferStore.open(in: folder.path)
    #expect(try next.quarantine == nil && next.unfinishedHeads().map(\.id) == [2, 3])
    try next.close()
  }

  @Test func aFolderInThePlaceOfAFirstQueueIsSetAside() throws {
    try Other.folder.make(at: queuePath)
    let store = try TransferStore.open(in: folder.path)
    #expect(has("\(try #require(store.quarantine).path)/\(TransferStore.fileName)"))
    #expect(try store.unfinishedHeads() == [])
    try store.close()
  }

  /// The queue may be on another disk.
  @Test func aLinkThatLeadsToTheQueueStays() throws {
    try leaveQueue(copied: false)
    let other = try TemporaryFolder()
    try files.disk.rename(queuePath, to: "\(other.path)/queue")
    #expect(symlink("\(other.path)/queue", queuePath) == 0)
    let store = try TransferStore.open(in: folder.path)
    #expect(try store.quarantine == nil && store.unfinishedHeads().map(\.id) == [2, 3])
    try store.close()
  }

  /// As by `rm queue*`.
  @Test func theSecondNameOfTheCopyOutlivesWhatIsNamedAfterTheQueue() throws {
    try leaveQueue(copied: true)
    let second = "\(folder.path)/\(ServiceNames.secondQueueCopy)"
    var (one, other) = (stat(), stat())
    #expect(lstat(copyPath, &one) == 0 && lstat(second, &other) == 0 && one.st_ino == other.st_ino)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("queue") {
      try files.disk.remove("\(folder.path)/\(name)")
    }
    let store = try TransferStore.open(in: folder.path)
    #expect(try #require(store.quarantine).contents.contains("copy"))
    #expect(try store.unfinishedHeads().map(\.id) == [2, 3])
    // The new queue is copied at once, under both names.
    #expect(has(copyPath) && has(second) && !has(second + ".new"))
    try store.close()
    #expect(try TransferStore.open(in: folder.path).quarantine == nil)
  }

  /// A disk may have damaged the part that the copy is on. The queue is whole.
  @Test func aCopyThatCannotBeReadKeepsNoQueueFromBeingUsed() throws {
    try leaveQueue(copied: false)
    try FileManager.default.createDirectory(atPath: copyPath, withIntermediateDirectories: false)
    let store = try TransferStore.open(in: folder.path)
    #expect(try store.quarantine == nil && store.unfinishedHeads().map(\.id) == [2, 3])
    try store.close()
  }

  /// The task with the highest number is over, so the new queue does not have it.
  @Test func aQueueThatWasMadeOfAnOlderOneIsNotTakenForAnOlderOneItself() throws {
    try leaveQueue(copied: false)
    let store = try TransferStore.open(in: folder.path)
    let session = try #require(try store.liveSessions().first)
    try store.close()
    let new = TransferStore.NewTransfer(.download("http://h/9", task: 9), host: "h")
    let records = try NewTaskRecord.encode([(new, 500_000)], of: session, at: Date())
    try (records + NewTaskRecord.encode(ended: [500_000])).write(
      to: URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1"))

    let next = try TransferStore.open(in: folder.path)
    #expect(try #require(next.quarantine).contents == "it has what the old one has, of which the last changes are gone")
    #expect(try next.unfinishedHeads().map(\.id) == [2, 3])
    #expect(try next.create([new], session: session.id, date: Date()).ids.allSatisfy { $0 > 500_000 })
    try next.close()
    let last = try TransferStore.open(in: folder.path)
    #expect(last.quarantine == nil)
    try last.close()
  }

  @Test(arguments: Fault.allCases) func aDamagedCopyIsNotUsed(fault: Fault) throws {
    try leaveQueue(copied: true)
    try damage(queuePath, .garbageInTheMiddle)
    try damage(copyPath, fault)
    // The other name is of the same file, or of one that is lost as well.
    try files.disk.remove("\(folder.path)/\(ServiceNames.secondQueueCopy)")
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(try store.unfinishedHeads() == [] && has("\(quarantine.path)/complete/1"))
    try store.close()
  }

  /// The count of free pages in the header is wrong: the tables are whole.
  @Test func aDamagedQueueThatCanBeReadLosesNothing() throws {
    try leaveQueue(copied: true)
    let store = try TransferStore.open(in: folder.path)
    try store.setState(.suspended, of: [2])
    try store.checkpoint()
    try store.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: queuePath))
    bytes[39] = 7
    try bytes.write(to: URL(fileURLWithPath: queuePath))
    let next = try TransferStore.open(in: folder.path)
    let quarantine = try #require(next.quarantine)
    #expect(quarantine.contents.contains("all of the old one"))
    let heads = try next.unfinishedHeads()
    #expect(heads.map(\.state) == [.suspended, .active] && heads.map(\.committedOffset) == [5, 5])
    #expect(has(files.partial(2)) && has(files.complete(1)))
    try next.close()
  }

  /// What was in the log of the database alone is lost with the database.
  @Test func aLogWithoutItsDatabaseIsSetAside() throws {
    try Data("a log".utf8).write(to: URL(fileURLWithPath: queuePath + "-wal"))
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(has("\(quarantine.path)/\(TransferStore.fileName)-wal"))
    try store.close()
  }

  @Test func aFirstStartIsNoLoss() throws {
    #expect(try TransferStore.open(in: folder.path).quarantine == nil)
    // A service was killed while it made the file.
    let other = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: "\(other.path)/\(TransferStore.fileName)"))
    #expect(try TransferStore.open(in: other.path).quarantine == nil)
  }

  @Test(arguments: ["restoration/queue.sqlite", "partial/2"]) func theNextServiceRestores(fault: String) throws {
    try leaveQueue(copied: true)
    try damage(queuePath, .removed)
    let disk = FaultyFileSystem()
    disk.set([.init(.rename, code: EIO, path: fault)])
    #expect(throws: SystemError.self) { _ = try TransferStore.open(in: folder.path, disk: disk) }
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine)
    #expect(try store.unfinishedHeads().map(\.id) == [2, 3])
    #expect(has("\(quarantine.path)/partial/2") && has(files.complete(1)))
    try store.close()
  }

  // MARK: Numbers

  @Test(arguments: [false, true]) func numbersOfALostQueueAreNotUsedAgain(copied: Bool) throws {
    try leaveQueue(copied: copied)
    try damage(queuePath, .removed)
    let date = Date(timeIntervalSince1970: 1_750_000_000)
    let store = try TransferStore.open(in: folder.path, date: date)
    let first = 1_750_000_000_000 * 1_024
    for (identifier, program) in [("s", "/app"), ("t", "/app"), ("s", "/other")] {
      var executable = StoreFixture.program
      executable.path = program
      let session = try store.attach(
        app: store.app(for: executable), identifier: identifier, options: SessionOptions())
      #expect(session.nextTaskIdentifier == first, "\(program), \(identifier)")
      let new = TransferStore.NewTransfer(.download("http://h/", task: first), host: "h")
      let id = try store.create([new], session: session.id, date: date).ids[0]
      #expect(id > 100_000)
      try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: date)
      let sequences = try store.events(of: session.id, after: 2, limit: 9).map(\.sequence)
      #expect(sequences == [Int64(first)], "\(program), \(identifier)")
    }
    try store.close()
  }
}
