import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Uploads whose queue is lost: their journals and the copies of their files are left.
@Suite struct QueueRebuildingUploadsTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
  }

  private func open() throws -> TransferStore { try TransferStore.open(in: folder.path, bootID: "boot") }

  private func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private static func loseQueue(in directory: String) throws {
    for name in [TransferStore.fileName] + QueueCopy.names {
      for suffix in ["", "-wal", "-shm"] { try LinuxFileSystem().remove("\(directory)/\(name)\(suffix)") }
    }
  }

  private func stored(copy: String? = "c.new") throws -> StoredUpload {
    let path = "\(folder.path)/file"
    try Data(count: 600).write(to: URL(fileURLWithPath: path))
    var upload = StoredUpload(path: path)
    upload.identity = URLLoadingSystem.FileIdentity(URL(fileURLWithPath: path))
    upload.copy = copy
    return upload
  }

  /// Returns its number, with a copy of its file.
  private func create(
    _ upload: StoredUpload, method: String? = nil, task: Int = 1, headers: [HeaderField] = [], in store: TransferStore
  ) throws -> TransferID {
    let session = try store.attach(
      app: store.app(for: StoreFixture.program), identifier: "s", options: SessionOptions())
    var description = TransferDescription.upload(upload.path, to: "http://h/", task: task, headers: headers)
    if let method { description.request.method = method }
    var new = TransferStore.NewTransfer(description, host: "h")
    new.upload = upload
    let id = try store.create([new], session: session.id, date: Date()).ids[0]
    try folder.leaveFile("uploads/\(id)")
    return id
  }

  private func writeJournal(_ store: TransferStore, _ id: TransferID) throws {
    let stored = try #require(try store.transfer(id))
    let session = try #require(try store.session(stored.head.session))
    try files.journals.write(TransferJournal(stored, of: session, bootID: "boot") { _, _ in nil })
  }

  @Test func anUploadIsMadeAgainOfItsJournal() throws {
    let store = try open()
    var upload = try stored()
    upload.place = .init(resource: "http://h/place", version: 6, acknowledged: 7)
    let id = try create(upload, in: store)
    try writeJournal(store, id)
    // Of an answer that the journal does not know.
    try folder.leaveFile("partial/\(id)")
    try store.close()
    try Self.loseQueue(in: folder.path)
    let next = try open()
    #expect(next.quarantine?.contents.contains("1 tasks by their journals") == true)
    let rebuilt = try #require(try next.transfer(id))
    #expect(rebuilt.upload == upload && rebuilt.description.kind == .upload && rebuilt.head.committedOffset == 0)
    #expect(has(files.upload(id)))
    try next.close()
  }

  /// The disk was full when its journal was to be written: so its last bytes have not left.
  @Test(arguments: ["PUT", "POST"]) func anUploadIsMadeAgainOfItsRecord(method: String) throws {
    let store = try open()
    let upload = try stored()
    let id = try create(upload, method: method, in: store)
    let row = try #require(try store.transfer(id))
    let session = try #require(try store.session(row.head.session))
    var new = TransferStore.NewTransfer(row.description, host: "h")
    new.upload = upload
    let record = try NewTaskRecord.encode([(new, id)], of: session, at: Date())
    try record.write(to: URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1"))
    try store.close()
    try Self.loseQueue(in: folder.path)
    let next = try open()
    let rebuilt = try #require(try next.transfer(id))
    #expect(rebuilt.description == row.description && rebuilt.upload == upload)
    #expect(rebuilt.head.state == row.head.state)
    try next.close()
  }

  @Test func theCopyOfALostUploadIsSetAside() throws {
    let store = try open()
    let id = try create(try stored(), headers: [HeaderField("Authorization", "Basic abc")], in: store)
    try writeJournal(store, id)
    try store.close()
    try Self.loseQueue(in: folder.path)
    let next = try open()
    let quarantine = try #require(next.quarantine)
    #expect(try next.unfinishedHeads() == [])
    #expect(!has(files.upload(id)) && has("\(quarantine.path)/uploads/\(id)"))
    try next.close()
  }

  @Test func copiesAloneAreSetAsideAndTheirNumbersNotUsed() throws {
    try folder.leaveFile("uploads/70")
    let store = try open()
    let quarantine = try #require(store.quarantine)
    #expect(has("\(quarantine.path)/uploads/70"))
    try files.createDirectories()
    #expect(try create(try stored(), in: store) > 70)
    try store.close()
  }

  /// Nothing says whether it was sent after the queue was copied.
  @Test func anUploadOfAnOlderRowMayHaveArrived() throws {
    let store = try open()
    let id = try create(try stored(), in: store)
    try store.copyIfChanged()
    try store.close()
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }
    let next = try open()
    #expect(try next.transfer(id)?.upload?.isEnding == true && has(files.upload(id)))
    try next.close()
  }

  /// The copy has the upload as it was before it was edited to another resource. Its last bytes left after that.
  @Test func anEditThatIsMadeOnceMoreSaysNothingOfTheServer() throws {
    let store = try open()
    var upload = try stored()
    let id = try create(upload, method: "POST", in: store)
    try store.copyIfChanged()
    var description = try #require(try store.transfer(id)).description
    description.request.url = "http://h/other"
    let edit = QueueChange.Edit(
      transfer: id, encoded: try MessageFraming.encode(description), priority: 0.5, host: "h", changesPassword: false,
      changesFields: false, startsOver: true)
    try store.database.write { _ = try TransferStore.set(edit, in: $0) }
    upload.isEnding = true
    try store.setUpload(upload, of: id)
    try writeJournal(store, id)
    try NewTaskRecord.encode([.edit(edit)]).write(to: URL(fileURLWithPath: "\(files.newTasks.directory)/tasks-1"))
    try store.close()
    for suffix in ["", "-wal", "-shm"] { try files.disk.remove("\(folder.path)/\(TransferStore.fileName)\(suffix)") }

    let next = try open()
    let rebuilt = try #require(try next.transfer(id))
    #expect(rebuilt.description.request.url == "http://h/other" && rebuilt.upload?.isEnding == true)
    try next.close()
  }

  @Test func copiesOfUnfinishedUploadsCountForTheirApp() throws {
    let store = try open()
    let ids = [
      try create(try stored(), in: store), try create(try stored(), task: 2, in: store),
      try create(try stored(copy: nil), task: 3, in: store),
    ]
    let app = try store.app(for: StoreFixture.program)
    #expect(try store.uploadBytes(of: app) == 1_200)
    try store.finish(ids[0], hasFile: false, completion: StoreFixture.completion(), date: Date())
    #expect(try store.uploadBytes(of: app) == 600)
    try store.close()
  }

  /// The journal is there before the first try, and says when the server may have the whole.
  @Test(arguments: ["PUT", "POST"]) func anUploadGoesOnWithoutItsQueue(method: String) async throws {
    let arrived = Gate()
    let desk = UploadDesk([method: [Reply([.readRequestBody(), .open(arrived), .stall]), UploadDesk.take()]])
    try await desk.run { fixture, server in
      let path = fixture.appFolder.path + "/file"
      try Data(BytePattern().bytes(count: 600_000)).write(to: URL(fileURLWithPath: path))
      let first = fixture.client()
      try await first.begin()
      let url = server.url("/upload").absoluteString
      let id = try #require(
        try await first.create([.upload(path, to: url, running: false, method: method)]).first)
      let journals = fixture.files.journals
      try await eventually("the journal") { (try? journals.read(id))?.isSuspended == true }
      try await first.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      try await arrived.wait(within: patience)
      try await eventually("the new journal") { (try? journals.read(id))?.isSuspended == false }
      #expect(try journals.read(id)?.upload?.isEnding == (method == "POST" ? true : nil))
      await fixture.shutDown()
      try Self.loseQueue(in: fixture.folder.path)
      try FileManager.default.removeItem(atPath: path)
      let next = try await fixture.nextLife()
      #expect(next.store.quarantine != nil)
      let app = next.client()
      try await app.begin()
      if method == "PUT" {
        #expect(try await app.nextEvent().download != nil)
        #expect(server.requests.last?.body.bytes == BytePattern().bytes(count: 600_000))
      } else {
        #expect(try await app.nextEvent().completion?.failure?.message.contains("not repeated") == true)
      }
      #expect(server.heads.count == (method == "PUT" ? 2 : 1))
    }
  }
}
