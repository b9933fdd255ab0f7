import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A service that is killed while it sets a damaged queue aside.
@Suite struct QueueQuarantineTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    for path in [files.complete(41), files.partial(40), files.deliveryDirectory + "/39.X.tmp"] {
      try Data("bytes".utf8).write(to: URL(fileURLWithPath: path))
    }
    try Data("no database".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(TransferStore.fileName)"))
  }

  private func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Stops with the fault; nothing happens after it.
  private func openUntil(_ fault: FaultyFileSystem.Fault) throws {
    let disk = FaultyFileSystem()
    disk.set([fault])
    #expect(throws: SystemError.self) { _ = try TransferStore.open(in: folder.path, disk: disk) }
  }

  /// The next service ends what was begun.
  private func expectEverythingIsSetAside() throws {
    let store = try TransferStore.open(in: folder.path)
    let quarantine = try #require(store.quarantine, "it would remove files that apps are reading")
    for name in [TransferStore.fileName, "complete/41", "partial/40", "reason.txt"] {
      #expect(has("\(quarantine.path)/\(name)"), "\(name) was not moved")
    }
    #expect(has(files.deliveryDirectory + "/39.X.tmp"))
    #expect(!has(folder.path + "/quarantine.json"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/quarantine").count == 1)
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    let new = TransferStore.NewTransfer(.download("http://h/", task: 1), host: "http://h:80")
    #expect(try store.create([new], session: session.id, date: Date()).ids == [100_042])
    try store.close()
    #expect(try TransferStore.open(in: folder.path).quarantine == nil)
  }

  /// The first rename is that of the note.
  @Test(arguments: 1...3) func theNextServiceMovesTheRest(renames: Int) throws {
    try openUntil(.init(.rename, code: EIO, after: renames))
    try expectEverythingIsSetAside()
  }

  /// The first folder that is synchronised is that of the note.
  @Test(arguments: 1...4) func theNextServiceBeginsTheNewQueue(folders: Int) throws {
    try openUntil(.init(.syncDirectory, code: EIO, after: folders))
    try expectEverythingIsSetAside()
  }

  /// The new queue was made, and has no number yet.
  @Test func theNextServiceRaisesTheNumbers() throws {
    try openUntil(.init(.syncDirectory, code: EIO, after: 4))
    let other = try TemporaryFolder()
    let new = try TransferStore.open(in: other.path)
    try new.checkpoint()
    try new.close()
    let name = TransferStore.fileName
    try FileManager.default.copyItem(atPath: "\(other.path)/\(name)", toPath: "\(folder.path)/\(name)")
    try expectEverythingIsSetAside()
  }

  @Test func aNoteThatCouldNotBeWrittenChangesNothing() throws {
    try openUntil(.init(.sync, code: ENOSPC))
    #expect(!has(folder.path + "/quarantine") && has(files.complete(41)))
    try expectEverythingIsSetAside()
  }
}
