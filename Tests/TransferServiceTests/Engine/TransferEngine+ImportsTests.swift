import Foundation
import HTTPSemantics
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Files with which apps begin downloads again, on a disk that fails and after a service that was killed.
@Suite struct TransferEngineImportsTests {
  /// A partial file of the library.
  private func makeFile(in folder: TemporaryFolder, _ text: String = "part") throws -> String {
    let path = try folder.subfolder("urlsession-\(getuid())") + "/CFNetworkDownload_x.tmp"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func download(beginningWith path: String, running: Bool = true) -> TransferDescription {
    var description = TransferDescription.download("http://h/1", running: running)
    description.resumePoint = ResumePoint(path: path, offset: 4, url: "http://h/1")
    description.resumePoint?.entityTag = "\"x\""
    return description
  }

  private func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }

  private func received(_ fixture: EngineFixture) -> Int64? {
    fixture.engine.queue.sync { fixture.engine.transfers[1]?.received }
  }

  // MARK: A disk that fails

  struct Failure: Sendable, CustomTestStringConvertible {
    let fault: FaultyFileSystem.Fault
    let isOnOtherDisk: Bool
    let code: String
    var testDescription: String { "\(fault.operation) \(fault.code), \(isOnOtherDisk ? "copied" : "linked")" }

    init(_ operation: FaultyFileSystem.Operation, _ error: Int32, _ path: String, copies: Bool, _ code: String) {
      fault = .init(operation, code: error, path: path, times: 1)
      (isOnOtherDisk, self.code) = (copies, code)
    }

    /// A file of another disk can't be linked.
    var faults: [FaultyFileSystem.Fault] {
      isOnOtherDisk ? [fault, .init(.link, code: EXDEV, path: "partial")] : [fault]
    }
  }

  static let failures = [
    Failure(.write, ENOSPC, ".import", copies: true, "noSpace"),
    Failure(.write, EIO, ".import", copies: true, "storageUnavailable"),
    Failure(.open, EMFILE, ".import", copies: true, "storageUnavailable"),
    Failure(.rename, EDQUOT, ".import", copies: true, "noSpace"),
    Failure(.link, ENOSPC, "partial/1", copies: false, "noSpace"),
    Failure(.sync, EIO, "partial/1", copies: false, "storageUnavailable"),
  ]

  /// The bytes are there and proven: they are not loaded again.
  @Test(arguments: failures) func aDownloadWaitsWithItsFileWhileTheDiskFails(failure: Failure) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 0.02 }) { fixture in
      let app = fixture.client()
      try await app.begin()
      let path = try makeFile(in: fixture.appFolder)
      fixture.disk.set(failure.faults)
      let id = try #require(try await app.create([download(beginningWith: path)]).first)
      try await eventually("the wait") { try await app.status(id).waiting?.code == failure.code }
      #expect(runner.running == [] && text(path) == "part")
      // A probe of the folder may be under way.
      #expect(fixture.names("partial").allSatisfy { TransferID($0.prefix { $0 != "." }) == nil })
      try await eventually("the run") {
        await fixture.advance(by: 30)
        return runner.running == [id]
      }
      #expect(runner.job(id)?.committedOffset == 4)
      #expect(text(fixture.files.partial(id)) == "part")
      try await eventually("the name to be removed") { text(path) == nil }
    }
  }

  @Test func aDownloadWaitsForTheRoomOfACopy() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let path = try makeFile(in: fixture.appFolder)
      fixture.disk.set([.init(.link, code: EXDEV, path: "partial")])
      fixture.disk.setFreeSpace(3)
      let id = try #require(try await app.create([download(beginningWith: path)]).first)
      func waits(free: Int) async throws {
        let sentence = WaitingReason.noSpace(needed: 4, available: Int64(free)).sentence
        try await eventually("the wait") { try await app.status(id).waiting?.sentence == sentence }
      }
      try await waits(free: 3)
      fixture.disk.setFreeSpace(2)
      await fixture.advance(by: 30)
      try await waits(free: 2)
      fixture.disk.setFreeSpace(nil)
      await fixture.advance(by: 30)
      try await eventually("the run") { runner.running == [id] }
      #expect(runner.job(id)?.committedOffset == 4)
    }
  }

  @Test func aSuspendedDownloadImportsItsFileWhenItIsResumed() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin()
      let path = try makeFile(in: fixture.appFolder)
      fixture.disk.set([.init(.link, code: ENOSPC, path: "partial/1", times: 1)])
      let id = try #require(try await app.create([download(beginningWith: path, running: false)]).first)
      try await eventually("the import to fail") {
        fixture.disk.faultsLeft(of: .link, "partial/1") == 0
          && fixture.engine.queue.sync { fixture.engine.transfers[id]?.machine.state == .suspended }
      }
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      try await eventually("the run") { runner.running == [id] }
      #expect(runner.job(id)?.committedOffset == 4)
    }
  }

  // MARK: A service that was killed

  /// The bytes counted when the service was killed, and the file had the name of the app still.
  private func withHalfImport(
    patience: Duration = .seconds(30), on disk: FaultyFileSystem = FaultyFileSystem(),
    then change: (TransferFiles, String) throws -> Void = { _, _ in },
    _ body: (EngineFixture, ScriptedRunner, String) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    let path = try makeFile(in: folder)
    try folder.leaveTransfer(download(beginningWith: path), validator: .init(entityTag: "\"x\"")) { store, id in
      try FileManager.default.linkItem(atPath: path, toPath: files.partial(id))
      try store.commit(offset: 4, representation: nil, of: id)
    }
    try change(files, path)
    let runner = ScriptedRunner()
    try await withEngine(in: folder, disk: disk, runner: runner, { $0.resumeFilePatience = patience }) { fixture in
      try await body(fixture, runner, path)
    }
  }

  /// The whole download would stay under that name.
  @Test func theNextLifeRemovesTheNameOfAnImportedFile() async throws {
    try await withHalfImport { fixture, runner, path in
      try await eventually("the run") { runner.running == [1] }
      #expect(runner.job(1)?.committedOffset == 4)
      #expect(text(path) == nil && text(fixture.files.partial(1)) == "part")
      #expect(received(fixture) == 4)
    }
  }

  /// The part has another name somewhere else.
  @Test func anotherFileUnderThatNameStays() async throws {
    func replace(_ files: TransferFiles, _ path: String) throws {
      try FileManager.default.removeItem(atPath: path)
      try Data("other".utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.linkItem(atPath: files.partial(1), toPath: files.directory + "/other")
    }
    try await withHalfImport(then: replace) { fixture, runner, path in
      try await eventually("the run") { runner.running == [1] }
      #expect(runner.job(1)?.committedOffset == 4)
      #expect(text(path) == "other" && text(fixture.files.partial(1)) == "part")
    }
  }

  @Test func aNameOnAFileSystemThatHangsKeepsNoDownload() async throws {
    let disk = FaultyFileSystem()
    try await disk.holding(.folder, path: "/urlsession-") { _ in
      try await withHalfImport(patience: .milliseconds(50), on: disk) { fixture, runner, path in
        try await eventually("the run") { runner.running == [1] }
        #expect(runner.job(1)?.committedOffset == 4)
        #expect(text(path) == "part" && text(fixture.files.partial(1)) == "part")
        #expect(received(fixture) == 4)
      }
    }
  }
}
