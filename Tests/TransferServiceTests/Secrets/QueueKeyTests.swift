import Foundation
import LoopbackServer
import Synchronization
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

@Suite struct QueueKeyTests {
  private static let secret = SecretBytes.copy(of: "hunter2-ä")

  private func opened(_ store: (any SecretStore)?, queue: String = "queue") async -> QueueKey {
    let key = QueueKey(ofQueue: queue) { store }
    await withCheckedContinuation { done in key.open { done.resume() } }
    return key
  }

  private func withStore(_ body: (FileSecretStore) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    try await body(FileSecretStore(path: folder.subfolder("secrets") + "/file"))
  }

  @Test func aSealedSecretIsOpenedByTheNextLifeOfTheKey() async throws {
    try await withStore { store in
      let sealed = try #require(await opened(store).seal(Self.secret, for: "a"))
      #expect(sealed.range(of: Data("hunter2".utf8)) == nil)
      let next = await opened(store)
      #expect(next.unseal(sealed, for: "a") == Self.secret)
      // For another purpose, changed, and with the key of another queue it is nothing.
      #expect(next.unseal(sealed, for: "b") == nil)
      for index in [0, sealed.count - 1] {
        var changed = sealed
        changed[index] ^= 1
        #expect(next.unseal(changed, for: "a") == nil)
      }
      #expect(next.unseal(Data(), for: "a") == nil)
      let other = await opened(store, queue: "other")
      #expect(other.unseal(sealed, for: "a") == nil)
    }
  }

  @Test func theSameSecretIsSealedDifferentlyEachTime() async throws {
    try await withStore { store in
      let key = await opened(store)
      #expect(key.seal(Self.secret, for: "a") != key.seal(Self.secret, for: "a"))
    }
  }

  @Test func withoutAPlaceForTheKeyNothingIsSealed() async {
    let key = await opened(nil)
    #expect(key.isSettled && key.seal(Self.secret, for: "a") == nil && key.unseal(Data([1]), for: "a") == nil)
  }

  /// A keychain that is locked may have the key: no other one takes its place, and it is asked again.
  @Test func aLockedPlaceIsAskedAgain() async throws {
    try await withStore { store in
      let sealed = try #require(await opened(store).seal(Self.secret, for: "a"))
      let isLocked = Mutex(true)
      let key = QueueKey(ofQueue: "queue") { isLocked.withLock { $0 } ? LockedStore() as any SecretStore : store }
      await withCheckedContinuation { done in key.open { done.resume() } }
      #expect(key.isSettled && key.unseal(sealed, for: "a") == nil)
      isLocked.withLock { $0 = false }
      await withCheckedContinuation { done in key.open { done.resume() } }
      #expect(key.unseal(sealed, for: "a") == Self.secret)
    }
  }

  // MARK: What must not be lost

  private func opened(_ store: (any SecretStore)?, file: String) async -> QueueKey {
    let key = QueueKey(ofQueue: "queue", file: file) { store }
    await withCheckedContinuation { done in key.open { done.resume() } }
    return key
  }

  @Test func withoutAKeychainTheKeyIsInAFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/key"
    let content = Data("content".utf8)
    #expect(
      QueueKey(ofQueue: "queue", file: path) { nil }.sealFields(content, for: "a") == nil, "not before it is asked")
    let sealed = try #require(await opened(nil, file: path).sealFields(content, for: "a"))
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size == 32)
    // Not even asked: the file is enough.
    let next = QueueKey(ofQueue: "queue", file: path) { nil }
    #expect(next.unsealFields(sealed, for: "a") == .open(content))
    #expect(next.unsealFields(sealed, for: "b") == .lost)
    #expect(next.unsealFields(Data(), for: "a") == .lost)
    // No secret that can be asked for again is sealed with it.
    #expect(await opened(nil, file: path).seal(Self.secret, for: "a") == nil)
  }

  @Test(arguments: [0o640, 0o000] as [mode_t]) func permissionsOfTheFileAreMended(mode: mode_t) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/key"
    let content = Data("content".utf8)
    let sealed = try #require(await opened(nil, file: path).sealFields(content, for: "a"))
    #expect(chmod(path, mode) == 0)
    #expect(QueueKey(ofQueue: "queue", file: path) { nil }.unsealFields(sealed, for: "a") == .open(content))
    var status = stat()
    // Root reads a file without permissions, too.
    #expect(stat(path, &status) == 0 && (mode == 0 && geteuid() == 0 || status.st_mode & 0o777 == 0o600))
  }

  /// Something else is in its place, as with a disk that gives no content.
  @Test func aFileThatCanNotBeReadIsWaitedFor() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/key"
    let content = Data("content".utf8)
    let sealed = try #require(await opened(nil, file: path).sealFields(content, for: "a"))
    #expect(rename(path, path + ".away") == 0 && mkdir(path, 0o700) == 0)
    let key = await opened(nil, file: path)
    guard case .locked(let cause) = key.unsealFields(sealed, for: "a") else {
      Issue.record("not waited for")
      return
    }
    #expect(cause.contains(path) && key.sealFields(content, for: "a") == nil)
    #expect(rmdir(path) == 0 && rename(path + ".away", path) == 0)
    #expect(key.unsealFields(sealed, for: "a") == .open(content))
    #expect(key.fileFault == nil)
  }

  @Test func aFileThatIsMissingIsWaitedForForADay() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/key"
    let content = Data("content".utf8)
    let sealed = try #require(await opened(nil, file: path).sealFields(content, for: "a"))
    #expect(rename(path, path + ".away") == 0)
    let clock = FakeClock()
    func life() async -> QueueKey {
      let key = QueueKey(ofQueue: "queue", file: path, clock: clock) { nil }
      key.expectFile()
      await key.settle()
      return key
    }
    func isWaitedFor(_ key: QueueKey) -> Bool {
      if case .locked(let cause) = key.unsealFields(sealed, for: "a") { cause.contains("missing") } else { false }
    }
    #expect(isWaitedFor(await life()) && access(path, F_OK) != 0, "no other key takes its place")
    clock.advance(by: QueueKey.missingPatience - 1)
    #expect(isWaitedFor(await life()), "another life of the service begins the time anew or ends it")
    // It comes back, and goes once more: the time begins anew.
    #expect(rename(path + ".away", path) == 0)
    #expect(await life().unsealFields(sealed, for: "a") == .open(content))
    #expect(unlink(path) == 0)
    clock.advance(by: 2)
    #expect(isWaitedFor(await life()))
    clock.advance(by: QueueKey.missingPatience)
    let last = await life()
    #expect(last.unsealFields(sealed, for: "a") == .lost)
    #expect(last.sealFields(content, for: "a") != nil && access(path + ".missing", F_OK) != 0)
  }

  @Test func aFileThatIsTooShortIsReplaced() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/key"
    let content = Data("content".utf8)
    let sealed = try #require(await opened(nil, file: path).sealFields(content, for: "a"))
    #expect(truncate(path, 31) == 0)
    // As a missing one, while the queue has something that it has sealed.
    guard case .locked = QueueKey(ofQueue: "queue", file: path, openStore: { nil }).unsealFields(sealed, for: "a")
    else {
      Issue.record("it is not waited for")
      return
    }
    #expect(await opened(nil, file: path).sealFields(content, for: "a") != nil)
    #expect(access(path + ".damaged", F_OK) == 0)
  }

  @Test func aKeychainComesFirstAndIsWaitedForWhereItIsLocked() async throws {
    try await withStore { store in
      let folder = try TemporaryFolder()
      let path = folder.path + "/key"
      let content = Data("content".utf8)
      let sealed = try #require(await opened(store, file: path).sealFields(content, for: "a"))
      #expect(access(path, F_OK) != 0)
      let locked = await opened(LockedStore(), file: path)
      #expect(locked.unsealFields(sealed, for: "a") == .locked(because: QueueKey.keychainIsLocked))
      let other = try #require(locked.sealFields(content, for: "a"))
      let key = await opened(store, file: path)
      #expect(key.unsealFields(sealed, for: "a") == .open(content))
      #expect(key.unsealFields(other, for: "a") == .open(content), "the key of the file still counts")
    }
  }

  @Test func theFilesKeySealsWhileTheKeychainIsAskedAgain() async throws {
    let folder = try TemporaryFolder()
    let gate = Gate()
    let again = Atomic(false)
    let key = QueueKey(ofQueue: "queue", file: folder.path + "/key") {
      if again.load(ordering: .acquiring) { try? await gate.wait(within: patience) }
      return nil
    }
    await key.settle()
    again.store(true, ordering: .releasing)
    let told = Recorder<Void>()
    key.open { told.record(()) }
    #expect(!key.isSettled && key.hasSettled && key.sealFields(Data("content".utf8), for: "a") != nil)
    gate.open()
    try await told.next()
  }

  @Test func everyCallerIsToldOnce() async throws {
    try await withStore { store in
      let asked = Atomic(0)
      let key = QueueKey(ofQueue: "queue") {
        asked.add(1, ordering: .relaxed)
        return store
      }
      let told = Recorder<Int>()
      #expect(!key.isSettled)
      for number in 0..<5 { key.open { told.record(number) } }
      let first = try await told.first(5)
      #expect(first.sorted() == Array(0..<5) && asked.load(ordering: .relaxed) == 1)
      key.open { told.record(5) }
      #expect(told.all.count == 6)
    }
  }
}

struct LockedStore: SecretStore {
  func find(_ attributes: SecretAttributes) async throws -> [SecretItem] { throw SecretStoreUnavailable(.locked) }
  func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
    Issue.record("a key takes the place of one that is locked")
  }
  func remove(_ attributes: SecretAttributes) async throws -> Int { 0 }
  func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { [] }
}
