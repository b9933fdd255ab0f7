import Foundation
import GRDB
import LoopbackServer
import Synchronization
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Header fields and bodies: not readable in the queue, and not lost with the service.
@Suite struct TransferEngineFieldsTests {
  private static let secrets = ["Bearer-4711", "cookie-4711", "body-4711", "added-4711"]

  private static func task(_ url: String, running: Bool = false) -> TransferDescription {
    var task = TransferDescription.download(url, running: running)
    task.request.method = "POST"
    task.request.headers = [HeaderField("Authorization", secrets[0]), HeaderField("Cookie", "a=\(secrets[1])")]
    task.request.body = Data(secrets[2].utf8)
    return task
  }

  private func begin(_ app: FakeClient, in fixture: EngineFixture) async throws {
    var options = SessionOptions()
    options.httpAdditionalHeaders = [HeaderField("X-Added", Self.secrets[3])]
    try await app.begin(options: options)
  }

  private func expectNoSecret(in fixture: EngineFixture, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try fixture.expectNone(of: Self.secrets, sourceLocation: sourceLocation)
  }

  private func expectAll(in request: RecordedRequest?) {
    #expect(request?.value("Authorization") == Self.secrets[0] && request?.value("X-Added") == Self.secrets[3])
    #expect(request?.value("Cookie") == "a=\(Self.secrets[1])")
    #expect(request?.body.text == Self.secrets[2])
  }

  private func resume(_ app: FakeClient) {
    app.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
  }

  @Test(arguments: [true, false]) func theyAreSealedAndOutliveTheService(hasKeychain: Bool) async throws {
    let folder = try TemporaryFolder()
    let secrets = FileSecretStore(path: try folder.subfolder("secrets") + "/file")
    try await withServer({ _ in .ok("in") }) { server in
      try await withEngine(secrets: hasKeychain ? secrets : nil) { fixture in
        let app = fixture.client()
        try await begin(app, in: fixture)
        let id = try #require(try await app.create([Self.task(server.url("/a").absoluteString)]).first)
        try expectNoSecret(in: fixture)
        #expect(fixture.names("").contains("key") == !hasKeychain)
        let next = try await fixture.nextLife()
        // No app is needed.
        try next.store.setState(.active, of: [id])
        let last = try await next.nextLife()
        let again = last.client()
        try await begin(again, in: last)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        expectAll(in: server.requests.first)
        try expectNoSecret(in: last)
        _ = try await again.nextEvent()
      }
    }
  }

  @Test func anAppThatComesBackIsShownThem() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await begin(app, in: fixture)
      let task = Self.task("http://h/a")
      let id = try #require(try await app.create([task]).first)
      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.greet()
      guard case .attached(let attached) = try await again.ask(.attach(Attach(session: "s"))) else {
        Issue.record("not attached")
        return
      }
      #expect(attached.page.tasks.map(\.description) == [task])
      // A change of the task takes nothing of the request.
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.priority = 0.75
      try await again.ask(.updateTask(update))
      let stored = try #require(try next.store.transfer(id))
      #expect(stored.description.request.headers.isEmpty && stored.sealedRequest != nil)
      guard case .open(let opened) = next.engine.openedInQueue(stored) else {
        Issue.record("not opened")
        return
      }
      #expect(opened.description.request == task.request)
    }
  }

  @Test func aLockedKeychainIsWaitedForWithAReason() async throws {
    let folder = try TemporaryFolder()
    let secrets = LockableStore(FileSecretStore(path: try folder.subfolder("secrets") + "/file"))
    try await withServer({ _ in .ok("in") }) { server in
      try await withEngine(secrets: secrets) { fixture in
        let app = fixture.client()
        try await begin(app, in: fixture)
        _ = try await app.create([Self.task(server.url("/a").absoluteString)])
        secrets.setLocked(true)
        let next = try await fixture.nextLife()
        let again = next.client()
        try await again.begin()
        try await again.watch()
        resume(again)
        _ = try await again.next {
          guard case .transferChanged(let status) = $0 else { return nil as Bool? }
          guard status.waiting?.code == "keychain" else { return nil }
          return status.waiting?.sentence.contains("keychain with the key is locked") == true ? true : nil
        }
        #expect(server.requests.isEmpty)
        secrets.setLocked(false)
        await next.advance(by: TransferEngine.keychainPause)
        try await next.settleKey()
        await next.advance(by: TransferEngine.keychainPause)
        #expect(try await again.nextEvent().download?.response?.status == 200)
        _ = try await again.nextEvent()
      }
    }
  }

  @Test func aTransferWhoseKeyIsGoneFails() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await begin(app, in: fixture)
      _ = try await app.create([Self.task("http://h/a")])
      try FileManager.default.removeItem(atPath: fixture.folder.path + "/key")
      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      try await again.watch()
      resume(again)
      _ = try await again.next {
        guard case .transferChanged(let status) = $0, let waiting = status.waiting else { return nil as Bool? }
        return waiting.code == "storageUnavailable" && waiting.sentence.contains("key is missing") ? true : nil
      }
      // No key takes the place of the missing one meanwhile.
      #expect(!next.names("").contains("key"))
      await next.advance(by: QueueKey.missingPatience)
      let failure = try #require(try await again.nextEvent().completion?.failure)
      #expect(failure.message.contains("can't be read any more"))
    }
  }
}

/// A keychain that can be locked.
final class LockableStore: SecretStore {
  private let store: any SecretStore
  private let isLocked = Mutex(false)

  init(_ store: any SecretStore) { self.store = store }

  func setLocked(_ value: Bool) { isLocked.withLock { $0 = value } }

  func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
    if isLocked.withLock({ $0 }) { throw SecretStoreUnavailable(.locked) }
    return try await store.find(attributes)
  }
  func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
    try await store.store(secret, for: attributes)
  }
  func remove(_ attributes: SecretAttributes) async throws -> Int { try await store.remove(attributes) }
  func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { try await store.list(attributes) }
}

extension TransferEngine {
  fileprivate func openedInQueue(_ stored: StoredTransfer) -> Opened { queue.sync { opened(stored) } }
}

extension EngineFixture {
  /// Neither the queue nor its log nor its copy nor another file of the service shows any of them, in whatever form.
  func expectNone(of secrets: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
    try store.copyIfChanged()
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let bytes = FileManager.default.contents(atPath: folder.path + "/" + name) ?? Data()
      for text in secrets.flatMap({ [$0, Data($0.utf8).base64EncodedString()] }) {
        #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) is in \(name)", sourceLocation: sourceLocation)
      }
    }
  }

  /// Returns when it is known again whether there is a key.
  func settleKey() async throws {
    await withCheckedContinuation { done in engine.key.open { done.resume() } }
    await settle()
  }
}
