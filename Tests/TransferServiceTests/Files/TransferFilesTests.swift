import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct TransferFilesTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private let disk = FaultyFileSystem()

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
  }

  private func write(_ path: String, _ text: String = "abc") throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  @Test func theCommandsKnowTheFolders() throws {
    #expect(try disk.names(in: folder.path) == ServiceNames.folders.sorted())
  }

  /// The things that were set aside, each with its folder: `partial/7`.
  private func setAside() throws -> [String] {
    let root = "\(folder.path)/\(TransferFiles.setAsideName)"
    return try disk.names(in: root).flatMap { dated in
      try disk.names(in: "\(root)/\(dated)").flatMap { name in
        try disk.names(in: "\(root)/\(dated)/\(name)").map { "\(name)/\($0)" }
      }
    }.sorted()
  }

  @Test(arguments: ["partial", "complete", "uploads", "journals"])
  func aFolderInThePlaceOfAFileIsSetAsideWithTheTransfer(name: String) throws {
    #expect(mkdir("\(folder.path)/\(name)/7", 0o700) == 0)
    try write("\(folder.path)/\(name)/7/letter")
    try files.removeUndelivered(7)
    #expect(try disk.names(in: "\(folder.path)/\(name)") == [] && setAside() == ["\(name)/7"])
    let dated = try #require(try disk.names(in: "\(folder.path)/set-aside").first)
    #expect(try disk.names(in: "\(folder.path)/set-aside/\(dated)/\(name)/7") == ["letter"])
  }

  @Test func foldersInThePlacesOfADeliveredFileAreSetAside() throws {
    for path in [files.complete(7), files.deliveryDirectory + "/7.a.tmp"] { #expect(mkdir(path, 0o700) == 0) }
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [] && disk.names(in: files.completeDirectory) == [])
    #expect(try setAside() == ["complete/7", "delivery/7.a.tmp"])
  }

  @Test func whatIsNoFileIsSetAsideAndFilesStay() throws {
    for name in ["partial", "complete", "uploads", "journals"] {
      let path = "\(folder.path)/\(name)"
      try write("\(path)/1")
      #expect(mkdir("\(path)/2", 0o700) == 0 && symlink("\(path)/1", "\(path)/3") == 0)
    }
    try write(files.deliveryDirectory + "/1.a.tmp")
    #expect(mkfifo(files.deliveryDirectory + "/2.b.tmp", 0o600) == 0)
    let sweep = try files.setAsideObstacles(sparing: { [3] })
    #expect(sweep.setAside == 8 && sweep.problems == [])
    let expected =
      ["complete/2", "delivery/2.b.tmp"] + ["journals", "partial", "uploads"].flatMap { ["\($0)/2", "\($0)/3"] }
    #expect(try setAside() == expected)
    #expect(
      try disk.names(in: files.completeDirectory) == ["1", "3"] && disk.names(in: files.partialDirectory) == ["1"])
    #expect(try disk.names(in: files.deliveryDirectory) == ["1.a.tmp"])
  }

  /// However often its app attaches.
  @Test func aFileThatTheAppHasLeftIsDeliveredUnderTheSameName() throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    for _ in 0..<3 { #expect(try files.makeDelivery(7, count: 3) == first) }
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [] && disk.names(in: files.completeDirectory) == [])
  }

  /// An app wrote into its file, and is not heard of again.
  @Test(arguments: [true, false]) func aChangedFileIsDeliveredAsItWasReceived(hasClones: Bool) throws {
    let disk: any DurableFileSystem = hasClones ? CloningFileSystem() : LinuxFileSystem()
    let files = TransferFiles(directory: folder.path, disk: disk)
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    #expect(try files.makeDelivery(7, count: 3) == first, "it is unchanged")
    for text in ["xyz", "longer"] {
      try write(try #require(try files.makeDelivery(7, count: 3)), text)
      let next = try #require(try files.makeDelivery(7, count: 3))
      #expect(try Data(contentsOf: URL(fileURLWithPath: next)) == Data("abc".utf8))
      // The service knows the names, or lists them.
      let listed = TransferFiles(directory: folder.path, disk: disk)
      let again = try #require(try listed.makeDelivery(7, count: 3))
      #expect(try Data(contentsOf: URL(fileURLWithPath: again)) == Data("abc".utf8))
    }
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.completeDirectory) == [])
  }

  /// Its date says nothing: apps set it.
  @Test func aChangeIsFoundWhateverItsDateIs() throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    var status = stat()
    #expect(stat(first, &status) == 0)
    try write(first, "xyz")
    #expect(utimensat(AT_FDCWD, first, [status.st_atim, status.st_mtim], 0) == 0)
    let next = try #require(try files.makeDelivery(7, count: 3))
    #expect(next != first && FileManager.default.contents(atPath: next) == Data("abc".utf8))
    try files.removeDelivered(7)
  }

  /// However often an app changes its file and ends.
  @Test func copiesThatWereChangedDoNotPileUp() throws {
    try write(files.complete(7))
    for _ in 0..<6 { try write(try #require(try files.makeDelivery(7, count: 3)), "x") }
    #expect(try disk.names(in: files.deliveryDirectory).count == 2, "the app may have the last but one open")
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [])
  }

  @Test func aDeliveryThatCanNotBeRemovedIsRemovedLater() throws {
    try write(files.complete(7))
    _ = try #require(try files.makeDelivery(7, count: 3))
    disk.set([.init(.remove, code: EIO, path: "delivery", times: 1)])
    #expect(throws: SystemError.self) { try files.removeDelivered(7) }
    #expect(try disk.names(in: files.completeDirectory) == ["7"])
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [] && disk.names(in: files.completeDirectory) == [])
  }

  /// A copy leaves room for everything else, and takes none that a running transfer has claimed.
  @Test(arguments: [(0, true), (64 << 20, true), ((64 << 20) + 2, true), ((64 << 20) + 3, false)] as [(Int64, Bool)])
  func withoutRoomForACopyTheFileItselfIsDelivered(unclaimed: Int64, isLinked: Bool) throws {
    try write(files.complete(7))
    var told = 0
    let path = try #require(
      try files.makeDelivery(7, count: 3, unclaimed: { _ in unclaimed }, isLinked: { told += 1 }))
    var (delivered, complete) = (stat(), stat())
    #expect(stat(path, &delivered) == 0 && stat(files.complete(7), &complete) == 0)
    #expect((delivered.st_ino == complete.st_ino) == isLinked && told == (isLinked ? 1 : 0))
    #expect(try files.makeDelivery(7, count: 3) == path, "it is unchanged")
    try files.removeDelivered(7)
  }

  @Test func aCopyThatTheDiskHasNoRoomForLeavesNothing() throws {
    disk.set([.init(.sync, code: ENOSPC, path: "delivery")])
    try write(files.complete(7))
    #expect(try files.makeDelivery(7, count: 3) != nil)
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
    disk.set([.init(.copy, code: EIO, path: "delivery")])
    try write(files.complete(8))
    #expect(throws: SystemError.self) { try files.makeDelivery(8, count: 3) }
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
  }

  /// The app has what it was given when the complete file is removed, also after a power failure.
  @Test func aDeliveredFileIsOnTheDisk() throws {
    try write(files.complete(7))
    let path = try #require(try files.makeDelivery(7, count: 3))
    #expect(disk.log.contains("sync delivery/\((path as NSString).lastPathComponent)"))
  }

  @Test func aFileThatTheAppHasMovedIsDeliveredAgain() throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    try FileManager.default.moveItem(atPath: first, toPath: folder.path + "/moved")
    let second = try #require(try files.makeDelivery(7, count: 3))
    #expect(first != second)
    #expect(try Data(contentsOf: URL(fileURLWithPath: second)) == Data("abc".utf8))
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [])
  }

  /// Also those of an earlier life of the service; and the folder is listed once for all of them.
  @Test func anAcknowledgementRemovesEveryNameOfTheTransfer() throws {
    for name in ["7.a.tmp", "7.b.tmp", "7.c.resume", "71.a.tmp"] { try write("\(files.deliveryDirectory)/\(name)") }
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == ["7.c.resume", "71.a.tmp"])
    try write("\(files.deliveryDirectory)/71.z.tmp")
    try files.removeDelivered(71)
    #expect(try disk.names(in: files.deliveryDirectory) == ["7.c.resume", "71.z.tmp"], "the folder was listed again")
  }

  @Test func doesNotDeliverAFileOfAnotherLength() throws {
    #expect(try files.makeDelivery(7, count: 3) == nil)
    try write(files.complete(7))
    #expect(try files.makeDelivery(7, count: 4) == nil)
  }

  @Test(arguments: ["complete", "delivery"]) func aFolderThatIsAwayTakesNoFileWithIt(name: String) throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    let (path, elsewhere) = ("\(folder.path)/\(name)", "\(folder.path)/elsewhere")
    try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
    for _ in 1...2 {
      let error = #expect(throws: SystemError.self) { try files.makeDelivery(7, count: 3) }
      #expect(error.flatMap { StorageFault.sentence(of: $0, in: folder.path) }?.contains(path) == true)
    }
    try FileManager.default.moveItem(atPath: elsewhere, toPath: path)
    #expect(try files.makeDelivery(7, count: 3) == first)
  }

  /// The app has left it, and its mark says that it is as it was received.
  @Test(arguments: [false, true]) func aCompleteFileThatIsGoneIsThatOfAnEarlierDelivery(isChanged: Bool) throws {
    try write(files.complete(7))
    // Without room for a copy, the app gets a hard link.
    let first = try #require(try files.makeDelivery(7, count: 3, unclaimed: { _ in 0 }))
    if isChanged { try write(first, "xyz") }
    try FileManager.default.removeItem(atPath: files.complete(7))
    let second = try files.makeDelivery(7, count: 3)
    #expect((second == nil) == isChanged)
    #expect(try disk.names(in: files.completeDirectory) == (isChanged ? [] : ["7"]))
    if let second { #expect(FileManager.default.contents(atPath: second) == Data("abc".utf8)) }
  }

  /// It may be as the app has made it.
  @Test func aCopyWithoutAMarkDoesNotBecomeTheCompleteFile() throws {
    try write(files.complete(7))
    _ = try #require(try files.makeDelivery(7, count: 3))
    try FileManager.default.removeItem(atPath: files.complete(7))
    #expect(try files.makeDelivery(7, count: 3) == nil)
    try files.setAsideDelivery(of: 7, count: 3, date: Date())
    #expect(try setAside() == ["complete/7"] && disk.names(in: files.deliveryDirectory) == [])
  }

  @Test func theResumeFileOutlivesTheTransfer() throws {
    try write(files.partial(7))
    let path = try files.makeResumeFile(7)
    try write(files.complete(7))
    try files.removeUndelivered(7)
    try files.removeDelivered(7)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try disk.names(in: files.partialDirectory) == [] && disk.names(in: files.completeDirectory) == [])
  }

  /// Days since it was written by the clock, and days on which the service ran.
  @Test(arguments: [(8.0, 7, true), (8, 6, false), (20_000, 0, false), (6, 100, false), (-20_000, 100, false)])
  func aResumeFileIsForgottenByBothClocks(age: Double, counted: Int, goes: Bool) throws {
    let now = Date(timeIntervalSince1970: 1_750_000_000)
    let path = "\(files.deliveryDirectory)/7.a.resume"
    try write(path)
    try FileManager.default.setAttributes([.modificationDate: now - age * 86_400], ofItemAtPath: path)
    let needed = TransferFiles.NeededFiles(unfinished: [], undelivered: [], isKnown: { _ in true })
    let days = KeptDays(days: ["delivery/7.a.resume": counted])
    #expect(try files.sweep(keeping: needed, date: now, days: days).removed == (goes ? 1 : 0))
    #expect(try disk.names(in: files.deliveryDirectory) == (goes ? [] : ["7.a.resume"]))
  }

  @Test func daysAreCountedOfAllThatIsKept() throws {
    let clock = FakeClock()
    func count() -> KeptDays { files.countKeptDays(clock: clock) { Issue.record("\($0)") } }
    #expect(count() == KeptDays())
    let folders = ["set-aside", "quarantine"].map { "\($0)/\(DatedFolder.name(clock.date))" }
    for name in folders + ["set-aside/Zoo"] { _ = try folder.subfolder(name) }
    for name in ["7.a.resume", "8.a.tmp"] { try write("\(files.deliveryDirectory)/\(name)") }
    for _ in 0..<3 {
      _ = count()
      clock.advance(by: 86_400)
    }
    let days = count()
    for path in folders + ["delivery/7.a.resume"] { #expect(days[path] == 3, "\(path)") }
    for path in ["set-aside/Zoo", "delivery/8.a.tmp"] { #expect(days[path] == 0, "\(path)") }
  }

  /// A download that had waited for its server for more than a week fails: the app has the week from then on.
  @Test func theAgeOfAResumeFileCountsFromItsMaking() throws {
    func setDate(_ path: String) throws {
      let date = Date(timeIntervalSinceNow: -8 * 86_400)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
    try write(files.partial(7))
    try setDate(files.partial(7))
    let path = try files.makeResumeFile(7)
    let days = KeptDays(days: ["delivery/\((path as NSString).lastPathComponent)": 100])
    #expect(try files.removeForgottenResumeFiles(at: Date(), days) == 0)
    let needed = TransferFiles.NeededFiles(unfinished: [], undelivered: [], isKnown: { _ in true })
    _ = try files.sweep(keeping: needed, days: days)
    #expect(FileManager.default.fileExists(atPath: path))
    try setDate(path)
    #expect(try files.removeForgottenResumeFiles(at: Date(), days) == 1)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// The service died before it had written the ends.
  @Test func whatWasSetAsideBeforeIsFound() throws {
    let date = Date(timeIntervalSince1970: 1_750_000_000)
    for path in [files.partial(7), files.complete(8), files.partial(9)] { try write(path) }
    let first = files.setAside(parts: [7], finished: [8], date: date)
    #expect(Set(first.paths.keys) == [7, 8])
    let second = files.setAside(parts: [7, 9, 10], finished: [8], date: date + 86_400)
    #expect(second.paths[7] == first.paths[7] && second.paths[8] == first.paths[8])
    #expect(Set(second.paths.keys) == [7, 8, 9] && second.problems == [:])
    // What had the place of a part is none.
    #expect(mkdir(files.partial(11), 0o700) == 0)
    _ = try files.setAside(11, in: TransferFiles.partialName)
    #expect(files.setAside(parts: [11], finished: [], date: date).paths == [:])
    disk.set([.init(.list, code: EIO, path: TransferFiles.setAsideName)])
    #expect(files.setAside(parts: [7], finished: [], date: date).problems.keys.sorted() == [7])
  }

  @Test func aPartIsTakenBackWhereItIsMissingAndWhole() throws {
    try write(files.partial(7))
    try files.takeBackPart(7, count: 3)
    let path = try #require(files.setAside(parts: [7], finished: [], date: Date()).paths[7])
    for count: Int64 in [0, 4] { try files.takeBackPart(7, count: count) }
    #expect(try disk.names(in: files.partialDirectory) == [])
    try write(files.partial(7), "x")
    try files.takeBackPart(7, count: 3)
    #expect(FileManager.default.fileExists(atPath: path))
    try disk.remove(files.partial(7))
    try files.takeBackPart(7, count: 3)
    #expect(FileManager.default.contents(atPath: files.partial(7)) == Data("abc".utf8))
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func removesOnlyFilesOfKnownTransfersThatNeedThemNoMore() throws {
    for name in [
      "partial/1", "partial/2", "complete/1", "complete/3", "complete/4", "delivery/3.a.tmp",
      "delivery/4.a.tmp", "delivery/4.a.resume",
    ] { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [1], undelivered: [3], isKnown: { $0 <= 4 })
    #expect(try files.sweep(keeping: needed) == .init(removed: 3))
    #expect(try disk.names(in: files.partialDirectory) == ["1"])
    #expect(try disk.names(in: files.completeDirectory).sorted() == ["1", "3"])
    #expect(try disk.names(in: files.deliveryDirectory).sorted() == ["3.a.tmp", "4.a.resume"])
  }

  /// Whatever became of its row, a file may be all that is left of a download.
  @Test func setsAsideFilesThatTheQueueDoesNotKnow() throws {
    let unknown = ["partial/x", "partial/8", "complete/8", "delivery/8.a.tmp"]
    for name in unknown + ["complete/3"] { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [], undelivered: [3], isKnown: { $0 <= 4 })
    let sweep = try files.sweep(keeping: needed, date: Date(timeIntervalSince1970: 1_750_000_000))
    #expect(sweep.removed == 0 && sweep.setAside == unknown.count)
    let root = try #require(sweep.folder)
    #expect(root.contains("/set-aside/2025-06-15T15:06:40Z-"))
    for name in unknown { #expect(try disk.size(of: "\(root)/\(name)") == 3, "\(name)") }
    #expect(try disk.names(in: files.completeDirectory) == ["3"])
  }

  /// They are bytes of no download.
  @Test func removesWhatAServiceThatWasKilledHasLeftOfProbes() throws {
    let names = ["partial", "complete", "delivery", "uploads", "journals"].flatMap {
      ["\($0)/probe.tmp", "\($0)/room.tmp"]
    }
    for name in names { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [], undelivered: [], isKnown: { _ in false })
    #expect(try files.sweep(keeping: needed) == .init(removed: names.count))
    for folder in files.folders { #expect(try disk.names(in: folder) == []) }
  }

  @Test func removesImportsThatWereNotComplete() throws {
    for name in ["partial/1", "partial/1.import", "partial/8.import"] { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [1], undelivered: [], isKnown: { $0 == 1 })
    #expect(try files.sweep(keeping: needed) == .init(removed: 2))
    #expect(try disk.names(in: files.partialDirectory) == ["1"])
  }
}
