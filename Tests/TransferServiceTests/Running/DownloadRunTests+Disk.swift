import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// One try at a time, on a disk that is full, broken or slow to keep what it was given.
extension DownloadRunTests {
  @Test func theFileIsSyncedBeforeItIsRenamed() async throws {
    let server = try await serve(FileResource(size: 1_000))
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    let log = disk.log
    let rename = try #require(log.firstIndex(of: "rename partial/\(id)"))
    #expect(log[..<rename].last { !$0.hasPrefix("syncDirectory") } == "sync partial/\(id)")
    #expect(log[rename...].dropFirst().first?.hasPrefix("syncDirectory") == true)
    #expect(log[rename...].dropFirst().first?.hasSuffix("complete") == true)
    await server.shutdown()
  }

  @Test func progressIsSyncedBeforeItIsCommitted() async throws {
    let resource = FileResource(size: 20 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    // The third sync fails: nothing beyond the second may have been committed.
    disk.set([.init(.sync, code: EIO, path: "partial", after: 2)])
    guard case .storageUnavailable = try await attempt(id).outcome else {
      Issue.record("the sync did not fail")
      return
    }
    let committed = try #require(try store.transfer(id)).head.committedOffset
    #expect(committed > 0 && committed < resource.version.size)
    #expect(disk.log.filter { $0.hasPrefix("sync ") }.count == 2)
    await server.shutdown()
  }

  /// A download of 4 MiB of which 2 have come, with its server.
  private func cutInTheMiddle() async throws -> (FileResource, LoopbackServer, TransferID) {
    let resource = FileResource(size: 4 * Self.mebi)
    resource.update { $0.cuts = [.after(2 * Self.mebi)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    return (resource, server, id)
  }

  @Test func bytesThatWereNeverCommittedAreNotTrusted() async throws {
    let (resource, server, id) = try await cutInTheMiddle()
    // A crash left rubbish behind the committed part.
    let file = try disk.open(files.partial(id))
    try [UInt8](repeating: 0xee, count: 100_000).withUnsafeBytes { try file.write($0, at: 2 * Self.mebi) }
    try file.close()
    #expect(finishedSize(try await attempt(id).outcome) == 4 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    await server.shutdown()
  }

  @Test func aFileShorterThanCommittedIsContinuedFromItsEnd() async throws {
    let (resource, server, id) = try await cutInTheMiddle()
    let file = try disk.open(files.partial(id))
    try file.truncate(to: 1_000)
    try file.close()
    #expect(resumedAt(try await attempt(id).reports) == [1_000])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    await server.shutdown()
  }

  /// The app was given up for absent, and came back before its end was written.
  @Test func aPartThatWasSetAsideIsContinued() async throws {
    let (resource, server, id) = try await cutInTheMiddle()
    #expect(files.setAside(parts: [id], finished: [], date: Date()).paths[id] != nil)
    let (outcome, reports) = try await attempt(id)
    #expect(finishedSize(outcome) == 4 * Self.mebi && resumedAt(reports) == [2 * Self.mebi])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    await server.shutdown()
  }

  enum Other: CaseIterable { case link, folder, pipe }

  private func make(_ other: Other, at path: String, leadingTo target: String) {
    let made =
      switch other {
      case .link: symlink(target, path)
      case .folder: mkdir(path, 0o700)
      case .pipe: mkfifo(path, 0o600)
      }
    #expect(made == 0)
  }

  @Test(arguments: Other.allCases, [true, false])
  func whatHasTheNameOfTheCompleteFileIsSetAside(other: Other, hasPart: Bool) async throws {
    let resource = FileResource(size: 4 * Self.mebi)
    if hasPart { resource.update { $0.cuts = [.after(2 * Self.mebi)] } }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    if hasPart { _ = try await attempt(id) }
    make(other, at: files.complete(id), leadingTo: files.directory + "/missing")
    let (outcome, reports) = try await attempt(id)
    #expect(finishedSize(outcome) == 4 * Self.mebi && resumedAt(reports) == (hasPart ? [2 * Self.mebi] : []))
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    #expect(try setAside("complete") == ["\(id)"])
    await server.shutdown()
  }

  @Test func aFolderThatTakesTheNameOfTheCompleteFileMeanwhileIsSetAside() async throws {
    let (resource, isHeld) = (FileResource(size: 4 * Self.mebi), Gate())
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      try await isHeld.wait()
      return resource.reply(to: request)
    }
    let id = try add(.download(server.url("/file").absoluteString))
    let (outcome, _) = try await attempt(id) { _, _ in
      try await disk.holding(.sync, path: "partial/\(id)") { isReached in
        isHeld.open()
        try await eventually("the bytes to be synchronised") { isReached() }
        make(.folder, at: files.complete(id), leadingTo: "")
      }
    }
    #expect(finishedSize(outcome) == 4 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    #expect(try setAside("complete") == ["\(id)"])
    await server.shutdown()
  }

  private func setAside(_ name: String) throws -> [String] {
    let root = "\(files.directory)/\(TransferFiles.setAsideName)"
    return try disk.names(in: root).flatMap { try disk.names(in: "\(root)/\($0)/\(name)") }
  }

  @Test(arguments: Other.allCases) func aPartThatIsNoFileIsSetAsideAndBegunAgain(other: Other) async throws {
    let (resource, server, id) = try await cutInTheMiddle()
    let (part, moved) = (files.partial(id), files.directory + "/moved")
    #expect(rename(part, moved) == 0)
    make(other, at: part, leadingTo: moved)
    let (outcome, reports) = try await attempt(id)
    #expect(finishedSize(outcome) == 4 * Self.mebi && resumedAt(reports) == [])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    // Nothing was written through the link, and what was found is kept.
    #expect(try disk.size(of: moved) == 2 * Self.mebi)
    #expect(try setAside("partial") == ["\(id)"])
    await server.shutdown()
  }

  @Test func aFullDiskEndsTheTryWithNoSpace() async throws {
    let resource = FileResource(size: 3 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.setFreeSpace(Self.mebi)
    guard case .noSpace(let needed, let available) = try await attempt(id).outcome else {
      Issue.record("there was space")
      return
    }
    #expect(needed == 3 * Self.mebi && available == Self.mebi)
    disk.setFreeSpace(nil)
    disk.set([.init(.write, code: ENOSPC, path: "partial", after: 1)])
    guard case .noSpace = try await attempt(id).outcome else {
      Issue.record("the write did not fail")
      return
    }
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == 3 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 3 * Self.mebi) == nil)
    await server.shutdown()
  }

  /// The free space is not given to each of them.
  @Test func theSpaceOfARunningTransferIsNotFree() async throws {
    let resource = FileResource(size: 3 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.setFreeSpace(4 * Self.mebi)
    try runner.claimSpace(2 * Self.mebi, for: id + 1)
    guard case .noSpace(let needed, let available) = try await attempt(id).outcome else {
      Issue.record("there was space")
      return
    }
    #expect(needed == 3 * Self.mebi && available == 2 * Self.mebi)
    runner.releaseSpace(of: id + 1)
    #expect(finishedSize(try await attempt(id).outcome) == 3 * Self.mebi)
    #expect(runner.unclaimed(of: 4 * Self.mebi) == 4 * Self.mebi)
    await server.shutdown()
  }

  /// Where an earlier try has found out how much is needed.
  @Test func aServerIsNotAskedForWhatHasNoRoom() async throws {
    let resource = FileResource(size: 3 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.setFreeSpace(4 * Self.mebi)
    try runner.claimSpace(2 * Self.mebi, for: id + 1)
    let outcome = try await attempt(id, neededSpace: 3 * Self.mebi).outcome
    guard case .noSpace(3_145_728, 2_097_152) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(resource.served.isEmpty)
    await server.shutdown()
  }

  @Test(
    arguments: [FaultyFileSystem.Operation.open, .write, .truncate, .rename, .syncDirectory],
    [EIO, EROFS, EACCES, ENOENT, ESTALE])
  func aBrokenDiskIsNoFailureOfTheTransfer(operation: FaultyFileSystem.Operation, code: Int32) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(operation, code: code)])
    guard case .storageUnavailable(let sentence, _, _) = try await attempt(id).outcome else {
      Issue.record("\(operation) did not fail")
      return
    }
    #expect(sentence.contains(String(cString: strerror(code))))
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == 2 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 2 * Self.mebi) == nil)
    await server.shutdown()
  }

  /// The file had its complete name when the disk failed: no byte of it travels twice.
  @Test func aFileWhoseNameMayNotLastIsTakenBack() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(.syncDirectory, code: EIO, path: "complete")])
    guard case .storageUnavailable = try await attempt(id).outcome else {
      Issue.record("the folder was synced")
      return
    }
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == 2 * Self.mebi)
    #expect(resource.served.map(\.status) == [200, 416])
    await server.shutdown()
  }

  /// Not even waiting helps a file that is longer than the file system can have.
  @Test func anErrorThatStaysFailsTheTransfer() async throws {
    let server = try await serve(FileResource(size: 2 * Self.mebi))
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(.write, code: EFBIG)])
    guard case .failed(let failure, _, _) = try await attempt(id).outcome else {
      Issue.record("the write did not fail")
      return
    }
    #expect(failure.code == URLError.Code.cannotWriteToFile.rawValue)
    #expect(failure.underlyingDomain == NSPOSIXErrorDomain && failure.underlyingCode == Int(EFBIG))
    await server.shutdown()
  }

  @Test(arguments: [EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR])
  func aTransientErrorOfTheSystemCostsNoBytes(code: Int32) async throws {
    let (resource, server, id) = try await cutInTheMiddle()
    disk.set([.init(.open, code: code)])
    guard case .retry(let failure, let kept, 2 * Self.mebi) = try await attempt(id).outcome else {
      Issue.record("\(code) was no reason to try again")
      return
    }
    #expect(failure.underlyingCode == Int(code))
    #expect(kept == KeptBytes(2 * Self.mebi, of: 4 * Self.mebi))
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == 4 * Self.mebi)
    #expect(resource.bytesSent == 4 * Self.mebi)
    await server.shutdown()
  }

  @Test func aLargeFileTakesLittleMemoryAndManySyncs() async throws {
    let size = 64 * Self.mebi
    let resource = FileResource(size: size)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    #expect(finishedSize(try await attempt(id).outcome) == size)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: size) == nil)
    // At least one for every 8 MiB.
    #expect(disk.log.filter { $0.hasPrefix("sync ") }.count >= 8)
    await server.shutdown()
  }
}
