import Dispatch
import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing

@testable import URLLoadingSystem

/// Loads whose credentials come from a class of the app's, or from a keychain that takes its time.
@Suite struct URLCredentialStorageLoadsTests {
  /// Answers in the way that a test wants.
  private final class AppStorage: URLCredentialStorage, @unchecked Sendable {
    // Sendable by hand: constants.
    typealias Handler = @Sendable (URLCredential?) -> Void
    private let answer: @Sendable (Handler) -> Void
    let kept = Recorder<String>()

    init(_ answer: @escaping @Sendable (Handler) -> Void) {
      self.answer = answer
      super.init()
    }

    override func getDefaultCredential(
      for space: URLProtectionSpace, task: URLSessionTask, completionHandler: @escaping Handler
    ) { answer(completionHandler) }

    override func setDefaultCredential(
      _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) { kept.record(credential.user ?? "") }
  }

  private final class LockedKeychain: SecretStore {
    let isAsked = Gate()
    let isUnlocked = Gate()

    func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
      isAsked.open()
      try await isUnlocked.wait()
      return []
    }
    func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {}
    func remove(_ attributes: SecretAttributes) async throws -> Int { 0 }
    func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { [] }
  }

  private static let credential = URLCredential(user: "ann", password: "pa", persistence: .forSession)

  private static func secret(_ request: RecordedRequest) -> Reply {
    if request.path == "/open" { return .ok("open") }
    let isIn = request.value("Authorization") == basic("ann", "pa")
    return isIn ? .ok("in") : .unauthorized(#"Basic realm="here""#)
  }

  @Test func aHandlerThatIsDroppedCountsAsNil() async throws {
    let storage = AppStorage { _ in }
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(nil) { $0.urlCredentialStorage = storage }
      defer { session.invalidateAndCancel() }
      let response = try await session.data(from: server.url()).1
      #expect((response as? HTTPURLResponse)?.statusCode == 401)
      let space = URLProtectionSpace(host: "h", port: 1, protocol: nil, realm: nil, authenticationMethod: nil)
      let task = session.dataTask(with: server.url())
      #expect(await storage.defaultCredential(for: space, task: task) == nil)
    }
  }

  @Test func aHandlerThatIsCalledTwiceCountsOnce() async throws {
    let storage = AppStorage { answer in for _ in 0..<2 { answer(Self.credential) } }
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(nil) { $0.urlCredentialStorage = storage }
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      #expect(try await storage.kept.next() == "ann")
    }
  }

  @Test func anOverrideThatBlocksStopsNoOtherLoad() async throws {
    let isAsked = Gate()
    let mayAnswer = DispatchSemaphore(value: 0)
    defer { mayAnswer.signal() }
    let storage = AppStorage { answer in
      isAsked.open()
      mayAnswer.wait()
      answer(nil)
    }
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(nil) { $0.urlCredentialStorage = storage }
      defer { session.invalidateAndCancel() }
      let ended = Recorder<Int>()
      let task = session.dataTask(with: server.url()) { ended.record(($2 as? URLError)?.code.rawValue ?? 0) }
      task.resume()
      try await isAsked.wait(within: patience)
      try await expectText("open", session.data(from: server.url("/open")))
      task.cancel()
      #expect(try await ended.next() == URLError.cancelled.rawValue)
    }
  }

  @Test func aKeychainThatIsLockedDoesNotHoldACancelledLoad() async throws {
    let keychain = LockedKeychain()
    defer { keychain.isUnlocked.open() }
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(nil) {
        $0.urlCredentialStorage = URLCredentialStorage(PermanentCredentials(openStore: { keychain }))
      }
      defer { session.invalidateAndCancel() }
      let ended = Recorder<Int>()
      let task = session.dataTask(with: server.url()) { ended.record(($2 as? URLError)?.code.rawValue ?? 0) }
      task.resume()
      try await keychain.isAsked.wait(within: patience)
      task.cancel()
      #expect(try await ended.next() == URLError.cancelled.rawValue)
    }
  }
}
