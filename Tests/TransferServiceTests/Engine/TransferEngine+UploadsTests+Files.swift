import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The files that are sent: copies, the app's own file where there is none, and files that are none.
extension TransferEngineUploadsTests {
  private static let full = [FaultyFileSystem.Fault(.write, code: ENOSPC, path: "uploads")]

  @Test func withoutRoomForACopyTheFileItselfIsSent() async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run(disk: Self.full) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(try Self.file(fixture), to: Self.url(server))])
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.first?.body.bytes == Self.bytes(600_000))
    }
  }

  @Test(arguments: [true, false]) func withoutACopyAChangedFileIsAnError(isChangedBefore: Bool) async throws {
    let (arrived, gate) = (Gate(), Gate())
    let reply = Reply([
      .readRequestBody(), .open(arrived), .waitFor(gate), .head(200, fields: [("Content-Length", "0")]),
    ])
    try await UploadDesk(["POST": [reply]]).run(disk: Self.full) { fixture, server in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(path, to: Self.url(server), running: !isChangedBefore)])
      if !isChangedBefore { try await arrived.wait(within: patience) }
      _ = try Self.file(fixture, seed: 2)
      gate.open()
      if isChangedBefore { try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1]))) }
      let failure = try #require(try await app.nextEvent().completion?.failure)
      #expect(failure.code == URLError.Code.cannotOpenFile.rawValue && failure.message.contains("changed"))
      #expect(server.heads.count == (isChangedBefore ? 0 : 1))
    }
  }

  @Test func aFileThatIsNoneFailsItsTaskOnly() async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let path = try Self.file(fixture)
      let device = TransferDescription.upload(path, to: Self.url(server))
      let present = TransferDescription.upload(path, to: Self.url(server), task: 2)
      let files = [SourceFile(owning: open("/dev/null", O_RDONLY | O_CLOEXEC)), try SourceFile.open(path)]
      try await app.ask(.createTasks(CreateTasks(session: "s", tasks: [device, present])), passing: files)
      var ends: [Int: TransferFailure?] = [:]
      while ends.count < 2 {
        let event = try await app.nextEvent()
        if let completion = event.completion { ends[event.taskIdentifier] = .some(completion.failure) }
      }
      #expect(ends[1]??.message.contains("is not a file") == true)
      #expect(ends[2] == .some(nil))
    }
  }

  /// An app names any path, and may see fewer files than the service.
  @Test func whatIsSentIsTheFileThatTheAppHasOpened() async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let path = try Self.file(fixture)
      let other = try fixture.folder.subfolder("other") + "/secret"
      try Data("secret".utf8).write(to: URL(fileURLWithPath: other))
      let app = fixture.client()
      try await app.begin()
      let file = try SourceFile.open(path)
      try FileManager.default.removeItem(atPath: path)
      let creation = CreateTasks(session: "s", tasks: [.upload(other, to: Self.url(server))])
      try await app.ask(.createTasks(creation), passing: [file])
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.first?.body.bytes == Self.bytes(600_000))
    }
  }

  /// Where there is no copy the path is opened again, and leads to another file by then.
  @Test func withoutACopyAPathThatLeadsElsewhereIsNotSent() async throws {
    try await UploadDesk([:]).run(disk: Self.full) { fixture, server in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(path, to: Self.url(server), running: false)])
      var status = stat()
      #expect(stat(path, &status) == 0)
      // Another file of the same size and date.
      try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
      try Data(BytePattern(seed: 2).bytes(count: 600_000)).write(to: URL(fileURLWithPath: path))
      #expect(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      let failure = try #require(try await app.nextEvent().completion?.failure)
      #expect(failure.code == URLError.Code.cannotOpenFile.rawValue && server.heads.isEmpty)
    }
  }

  /// As an app of an earlier version asks: only its uploads are refused.
  @Test func anUploadWithoutItsOpenFileIsRefused() async throws {
    try await withEngine { fixture in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      let upload = TransferDescription.upload(path, to: "http://h/", running: false)
      let creation = ClientRequest.createTasks(CreateTasks(session: "s", tasks: [upload]))
      guard case .refused(let refusal) = try await app.ask(creation) else {
        Issue.record("it was taken")
        return
      }
      #expect(refusal.reason == .unsupported && refusal.message.contains("update the app's library"))
      let two = try [SourceFile.open(path), SourceFile.open(path)]
      guard case .refused(let other) = try await app.ask(creation, passing: two) else {
        Issue.record("it was taken")
        return
      }
      #expect(other.reason == .invalidRequest)
      #expect(try await app.create([.download("http://h/", task: 2, running: false)]).count == 1)
      #expect(fixture.names("uploads").isEmpty)
    }
  }

  @Test func anUploadThatTheQuotaHasNoRoomForFailsAlone() async throws {
    try await withEngine({ $0.quotas.diskBytes = 1_000 }) { fixture in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.upload(try Self.file(fixture), to: "http://h/")])
      let failure = try #require(try await app.nextEvent().completion?.failure)
      #expect(failure.message.contains("more than the app may") && fixture.names("uploads").isEmpty)
    }
  }

  /// The app asks again when it was not told, and may have removed its file by then.
  @Test func aTaskThatIsCreatedAgainNeedsItsFileNoMore() async throws {
    try await UploadDesk([:]).run { fixture, server in
      let path = try Self.file(fixture)
      let app = fixture.client()
      try await app.begin()
      let description = TransferDescription.upload(path, to: Self.url(server), running: false)
      let id = try #require(try await app.create([description]).first)
      try FileManager.default.removeItem(atPath: path)
      #expect(try await app.create([description]) == [id])
      #expect(fixture.names("uploads") == ["\(id)"])
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      #expect(fixture.names("uploads").isEmpty)
    }
  }

  @Test func copiesThatNoTransferNeedsAreRemovedAtTheStart() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.upload("/app/file", to: "http://h/", running: false)) { store, id in
      var upload = StoredUpload(path: "/app/file")
      upload.copy = "A.new"
      try store.setUpload(upload, of: id)
    }
    for name in ["uploads/A.new", "uploads/B.new", "uploads/77"] { try folder.leaveFile(name) }
    try await withEngine(in: folder) { fixture in
      // One gets the name of its transfer, one was being made, and the queue knows nothing of one.
      #expect(fixture.names("uploads") == ["1"])
      let setAside = try fixture.disk.names(in: folder.path + "/set-aside")
      #expect(setAside.count == 1)
    }
  }
}
