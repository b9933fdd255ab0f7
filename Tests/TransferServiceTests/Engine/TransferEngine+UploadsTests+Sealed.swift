import Foundation
import HTTPSemantics
import LoopbackServer
import NIOCore
import NIOPosix
import Synchronization
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Copies of files on a disk that can't share blocks: sealed on it, and sent as the files were.
extension TransferEngineUploadsTests {
  private static let sealedSecrets = ["body-4711", "header-4711", "cookie-4711", "password-4711"]

  /// Neither while the transfer waits, nor when it is over and its app has not acknowledged that.
  @Test func noSecretOfAnUploadIsInTheFolderOfTheService() async throws {
    let desk = UploadDesk(["POST": [UploadDesk.take(fields: [("Set-Cookie", "a=\(Self.sealedSecrets[2])")])]])
    try await desk.run { fixture, server in
      let path = fixture.appFolder.path + "/file"
      let body = Data(String(repeating: Self.sealedSecrets[0] + " ", count: 30_000).utf8)
      try body.write(to: URL(fileURLWithPath: path))
      let app = fixture.client()
      try await app.begin()
      let url = Self.url(server).replacing("http://", with: "http://ann:\(Self.sealedSecrets[3])@")
      let headers = [HeaderField("Authorization", "Bearer \(Self.sealedSecrets[1])")]
      let id = try #require(
        try await app.create([.upload(path, to: url, running: false, headers: headers)]).first)
      #expect(fixture.names("uploads") == ["\(id)"])
      try fixture.expectNone(of: Self.sealedSecrets)
      try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      #expect(try await app.nextEvent().download?.response?.headers.contains { $0.name == "Set-Cookie" } == true)
      #expect(try await app.nextEvent().completion?.failure == nil)
      #expect(server.requests.first?.body.bytes == Array(body))
      #expect(server.requests.first?.value("Authorization") == headers[0].value)
      try fixture.expectNone(of: Self.sealedSecrets)
    }
  }

  /// The server has the bytes to the middle of a chunk, or to its end.
  @Test(arguments: [1, SealedChunks.length, SealedChunks.length + 34_465, 599_999])
  func aSealedCopyIsSentFromTheServersOffsetOn(offset: Int) async throws {
    let desk = UploadDesk([
      "POST": [UploadDesk.stall], "HEAD": [UploadDesk.has(offset)], "PATCH": [UploadDesk.take()],
    ])
    try await desk.run { fixture, server in
      let path = try Self.file(fixture)
      let first = fixture.client()
      try await first.begin()
      let id = try #require(try await first.create([.upload(path, to: Self.url(server))]).first)
      try await eventually("the place in the queue") { try fixture.store.transfer(id)?.upload?.place != nil }
      try FileManager.default.removeItem(atPath: path)
      let next = try await fixture.nextLife()
      _ = try await server.nextRequest()
      let app = next.client()
      try await app.begin()
      #expect(try await app.nextEvent().download != nil)
      #expect(try await app.nextEvent().completion?.failure == nil)
      #expect(server.requests.last?.body.bytes == Array(Self.bytes(600_000).dropFirst(offset)))
    }
  }

  @Test(arguments: [0, SealedChunks.length, 3 * SealedChunks.length])
  func anySizeIsSent(count: Int) async throws {
    try await UploadDesk(["PUT": [UploadDesk.take()]]).run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let path = try Self.file(fixture, count: count)
      _ = try await app.create([.upload(path, to: Self.url(server), method: "PUT")])
      #expect(try await app.nextEvent().download != nil)
      #expect(server.requests.first?.body.bytes == Self.bytes(count))
    }
  }

  /// Makes an upload that does not run yet, and resumes it after a change, in the life of the service that `change` returns.
  private func end(
    ofUploadWith change: (EngineFixture, _ file: String, _ copy: String) async throws -> EngineFixture,
    in fixture: EngineFixture, _ server: LoopbackServer
  ) async throws -> Completion {
    let path = try Self.file(fixture)
    let first = fixture.client()
    try await first.begin()
    let id = try #require(try await first.create([.upload(path, to: Self.url(server), running: false)]).first)
    let life = try await change(fixture, path, fixture.files.upload(id))
    let app = life === fixture ? first : life.client()
    if life !== fixture { try await app.begin() }
    try await app.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
    while true {
      if let completion = try await app.nextEvent().completion { return completion }
    }
  }

  /// The app's own file has the same bytes, as long as it is as it was.
  @Test(arguments: [true, false]) func noByteOfAChangedCopyIsSent(isFileThere: Bool) async throws {
    try await UploadDesk(["POST": [UploadDesk.take(), UploadDesk.take()]]).run { fixture, server in
      let completion = try await end(
        ofUploadWith: { fixture, path, copy in
          if !isFileThere { try FileManager.default.removeItem(atPath: path) }
          let file = try #require(FileHandle(forUpdatingAtPath: copy))
          try file.seek(toOffset: 300_000)
          try file.write(contentsOf: Data([1, 2, 3]))
          try file.close()
          return fixture
        }, in: fixture, server)
      guard !isFileThere else {
        #expect(completion.failure == nil && server.requests.last?.body.bytes == Self.bytes(600_000))
        return
      }
      let failure = try #require(completion.failure)
      #expect(failure.code == URLError.Code.cannotOpenFile.rawValue)
      #expect(failure.message.contains("was changed or damaged on the disk"))
      let sent = server.requests.first?.body.bytes ?? []
      #expect(sent == Array(Self.bytes(600_000).prefix(sent.count)) && sent.count < 300_000)
    }
  }

  /// The app's own file has the same bytes, as long as it is as it was.
  @Test(arguments: [true, false]) func aTruncatedCopyIsNotSent(isFileThere: Bool) async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let completion = try await end(
        ofUploadWith: { fixture, file, copy in
          #expect(truncate(copy, 2 * (SealedChunks.length + SealedChunks.overhead)) == 0)
          if !isFileThere { try FileManager.default.removeItem(atPath: file) }
          return fixture
        }, in: fixture, server)
      if isFileThere {
        #expect(completion.failure == nil && server.requests.first?.body.bytes == Self.bytes(600_000))
      } else {
        #expect(completion.failure?.message.contains("was changed or damaged on the disk, and the file") == true)
        #expect(server.heads.isEmpty)
      }
    }
  }

  /// A file system that hangs keeps these threads, and not those that all loads share.
  @Test func theAppsFileIsReadOnThreadsOfItsOwn() async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let completion = try await whileSharedThreadsAreBusy {
        try await end(
          ofUploadWith: { fixture, _, copy in
            #expect(truncate(copy, 2 * (SealedChunks.length + SealedChunks.overhead)) == 0)
            return fixture
          }, in: fixture, server)
      }
      #expect(completion.failure == nil && server.requests.first?.body.bytes == Self.bytes(600_000))
    }
  }

  private func whileSharedThreadsAreBusy<Value>(_ body: () async throws -> Value) async throws -> Value {
    let (count, end, areBusy) = (NIOSingletons.blockingPoolThreadCountSuggestion, DispatchSemaphore(value: 0), Gate())
    let begun = Atomic<Int>(0)
    for _ in 0..<count {
      NIOThreadPool.singleton.submit { _ in
        if begun.add(1, ordering: .relaxed).newValue == count { areBusy.open() }
        end.wait()
      }
    }
    defer { for _ in 0..<count { end.signal() } }
    try await areBusy.wait(within: patience)
    return try await body()
  }

  @Test(arguments: [true, false]) func withoutItsKeyACopyIsNotSent(isFileThere: Bool) async throws {
    try await UploadDesk(["POST": [UploadDesk.take()]]).run { fixture, server in
      let completion = try await end(
        ofUploadWith: { fixture, file, _ in
          try FileManager.default.removeItem(atPath: fixture.folder.path + "/key")
          if !isFileThere { try FileManager.default.removeItem(atPath: file) }
          let next = try await fixture.nextLife()
          // It is waited for first.
          try await next.settleKey()
          #expect(!next.names("").contains("key"))
          await next.advance(by: QueueKey.missingPatience)
          return next
        }, in: fixture, server)
      if isFileThere {
        #expect(completion.failure == nil && server.requests.first?.body.bytes == Self.bytes(600_000))
      } else {
        #expect(completion.failure?.message.contains("The key to the transfer service's copy") == true)
        #expect(server.heads.isEmpty)
      }
    }
  }

  /// As an earlier version of the service has left it.
  @Test func aPlainCopyOfAnEarlierVersionIsSent() async throws {
    try await withServer({ _ in .ok("in") }) { server in
      let folder = try TemporaryFolder()
      let file = try folder.subfolder("app") + "/file"
      try Data(Self.bytes(5_000)).write(to: URL(fileURLWithPath: file))
      try folder.leaveTransfer(.upload(file, to: Self.url(server))) { store, id in
        var upload = StoredUpload(path: file)
        upload.identity = URLLoadingSystem.FileIdentity(URL(fileURLWithPath: file))
        upload.copy = "A.new"
        try store.setUpload(upload, of: id)
      }
      try FileManager.default.moveItem(atPath: file, toPath: try folder.subfolder("uploads") + "/A.new")
      try await withEngine(in: folder) { fixture in
        let app = fixture.client()
        try await app.begin()
        #expect(try await app.nextEvent().download != nil)
        #expect(server.requests.first?.body.bytes == Self.bytes(5_000))
      }
    }
  }

  /// Neither a keychain nor a file: a folder has its name.
  @Test func withoutAPlaceForAKeyAnUploadIsRefused() async throws {
    try await withEngine { fixture in
      try FileManager.default.createDirectory(atPath: fixture.folder.path + "/key", withIntermediateDirectories: false)
      let app = fixture.client()
      try await app.begin()
      let path = try Self.file(fixture)
      let creation = CreateTasks(session: "s", tasks: [.upload(path, to: "http://h/", running: false)])
      guard case .refused(let refusal) = try await app.ask(.createTasks(creation), passing: [try SourceFile.open(path)])
      else {
        Issue.record("it was taken")
        return
      }
      #expect(refusal.reason == .storage && refusal.message.contains("can't be sealed"))
      #expect(fixture.names("uploads").isEmpty)
    }
  }
}
