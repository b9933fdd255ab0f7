import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing

@testable import URLLoadingSystem

/// The shared storage over a keychain in memory.
@Suite struct PermanentCredentialsTests {
  private final class Keychain: SecretStore {
    let items = Mutex<[(SecretAttributes, String)]>([])
    let isBroken: Mutex<Bool>
    let reads = Recorder<SecretAttributes>()
    let failures = Recorder<Bool>()

    init(isBroken: Bool = false) { self.isBroken = Mutex(isBroken) }

    private func matches(_ item: SecretAttributes, _ query: SecretAttributes) -> Bool {
      SecretAttributes.Name.allCases.allSatisfy { name in query[name].map { $0 == item[name] ?? "" } ?? true }
    }

    private func check() throws {
      guard isBroken.withLock({ $0 }) else { return }
      failures.record(true)
      throw SecretStoreUnavailable(.locked)
    }

    func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
      try check()
      reads.record(attributes)
      return try items.withLock { items in
        try items.filter { matches($0.0, attributes) }
          .map { SecretItem(attributes: $0.0, secret: try SecretBytes($0.1)) }
      }
    }

    func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
      try check()
      items.withLock { items in
        items.removeAll { $0.0 == attributes }
        items.append((attributes, secret.text() ?? ""))
      }
    }

    func remove(_ attributes: SecretAttributes) async throws -> Int {
      try check()
      return items.withLock { items in
        let before = items.count
        items.removeAll { matches($0.0, attributes) }
        return before - items.count
      }
    }

    func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] {
      try check()
      return items.withLock { $0.map(\.0).filter { matches($0, attributes) } }
    }
  }

  private let space = URLProtectionSpace(
    host: "h", port: 443, protocol: "https", realm: "r", authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

  private func storage(_ keychain: Keychain) -> URLCredentialStorage {
    URLCredentialStorage(PermanentCredentials(openStore: { keychain }))
  }

  private func credential(
    _ user: String, _ password: String = "1", _ persistence: URLCredential.Persistence = .permanent
  ) -> URLCredential { URLCredential(user: user, password: password, persistence: persistence) }

  /// A clock that goes on when it is told to.
  private final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 += duration } }
  }

  private func written(_ storage: URLCredentialStorage) async {
    await withCheckedContinuation { continuation in storage.whenWritten { continuation.resume() } }
  }

  @Test func permanentCredentialsOutliveTheStorage() async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    first.set(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    first.set(URLCredential(user: "b", password: "2", persistence: .forSession), for: space)
    await written(first)
    let second = storage(keychain)
    #expect(second.defaultCredential(for: space)?.password == "1")
    #expect(second.credentials(for: space)?.keys.sorted() == ["a"])
    #expect(keychain.reads.all.count == 1, "a storage reads a space once")
    second.remove(URLCredential(user: "a", password: "", persistence: .permanent), for: space)
    await written(second)
    #expect(keychain.items.withLock { $0.isEmpty })
    #expect(storage(keychain).credentials(for: space) == nil)
  }

  @Test func otherSpacesAreNotMixed() async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    first.set(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    await written(first)
    for (host, port, realm, method) in [
      ("other", 443, "r", NSURLAuthenticationMethodHTTPBasic), ("h", 444, "r", NSURLAuthenticationMethodHTTPBasic),
      ("h", 443, "s", NSURLAuthenticationMethodHTTPBasic), ("h", 443, "r", NSURLAuthenticationMethodHTTPDigest),
    ] {
      let other = URLProtectionSpace(
        host: host, port: port, protocol: "https", realm: realm, authenticationMethod: method)
      #expect(storage(keychain).defaultCredential(for: other) == nil)
    }
  }

  @Test func aKeychainThatFailsLeavesTheCredentialInMemory() async throws {
    let keychain = Keychain(isBroken: true)
    let storage = storage(keychain)
    storage.set(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    await written(storage)
    #expect(storage.defaultCredential(for: space)?.password == "1")
    storage.remove(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    #expect(storage.credentials(for: space) == nil)
  }

  // MARK: A keychain that can't be read

  @Test func aKeychainThatCouldNotBeReadIsAskedAgainLater() async throws {
    let (keychain, clock) = (Keychain(), Clock())
    let first = storage(keychain)
    first.set(credential("a"), for: space)
    await written(first)
    keychain.isBroken.withLock { $0 = true }
    let second = URLCredentialStorage(PermanentCredentials(now: { clock.now }) { keychain })
    #expect(second.credentials(for: space) == nil)
    #expect(second.defaultCredential(for: space) == nil)
    #expect(keychain.failures.all.count == 1, "it is not asked at each request")
    keychain.isBroken.withLock { $0 = false }
    #expect(second.credentials(for: space) == nil, "the pause is not over")
    clock.advance(by: KeychainPause.shortest)
    #expect(second.defaultCredential(for: space)?.password == "1")
    #expect(second.credentials(for: space)?.keys.sorted() == ["a"])
    #expect(keychain.reads.all.count == 1)
  }

  /// The message bus, or the keychain on it, may be started after the program.
  @Test func aKeychainThatComesLaterIsFound() async throws {
    let (keychain, clock) = (Keychain(), Clock())
    let first = storage(keychain)
    first.set(credential("a"), for: space)
    await written(first)
    let isThere = Mutex(false)
    let second = URLCredentialStorage(
      PermanentCredentials(now: { clock.now }) { isThere.withLock { $0 } ? keychain : nil })
    second.set(credential("lost"), for: space)
    await written(second)
    #expect(second.credentials(for: space)?.keys.sorted() == ["lost"])
    isThere.withLock { $0 = true }
    clock.advance(by: KeychainPause.shortest)
    #expect(second.credentials(for: space)?.keys.sorted() == ["a", "lost"])
    #expect(second.defaultCredential(for: space)?.user == "a")
    second.set(credential("b"), for: space)
    await written(second)
    #expect(keychain.items.withLock { $0.contains { $0.0[.user] == "b" } })
  }

  @Test func pausesAfterFailuresGrow() {
    var (pause, now) = (KeychainPause(), ContinuousClock.now)
    #expect(pause.isOver(at: now))
    for length in [10, 20, 40, 80, 160, 320, 600, 600] as [Int] {
      pause.failed(at: now)
      // Another read that was under way.
      pause.failed(at: now)
      #expect(!pause.isOver(at: now + .seconds(length) - .milliseconds(1)))
      now += .seconds(length)
      #expect(pause.isOver(at: now))
    }
    pause.succeeded()
    pause.failed(at: now)
    #expect(pause.isOver(at: now + .seconds(10)))
  }

  @Test func aCredentialThatIsRemovedWhileTheKeychainCanNotBeReadStaysRemoved() async throws {
    let (keychain, clock) = (Keychain(), Clock())
    let first = storage(keychain)
    for user in ["a", "b"] { first.set(credential(user), for: space) }
    await written(first)
    keychain.isBroken.withLock { $0 = true }
    let second = URLCredentialStorage(PermanentCredentials(now: { clock.now }) { keychain })
    second.remove(credential("a"), for: space)
    await written(second)
    keychain.isBroken.withLock { $0 = false }
    #expect(second.credentials(for: space) == nil && second.allCredentials.isEmpty)
    clock.advance(by: KeychainPause.shortest)
    #expect(second.credentials(for: space)?.keys.sorted() == ["b"])
  }

  // MARK: Defaults

  @Test(arguments: ["a", "b", "c"]) func theDefaultIsThatOfTheKeychain(user: String) async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    for user in ["b", "a", "c"] { first.set(credential(user), for: space) }
    first.setDefaultCredential(credential(user), for: space)
    await written(first)
    let second = storage(keychain)
    #expect(second.defaultCredential(for: space)?.user == user)
    #expect(second.credentials(for: space)?.keys.sorted() == ["a", "b", "c"])
    // Another choice, in another process.
    second.setDefaultCredential(credential("a"), for: space)
    await written(second)
    #expect(storage(keychain).defaultCredential(for: space)?.user == "a")
    second.remove(credential("a"), for: space)
    second.remove(credential("b"), for: space)
    await written(second)
    #expect(storage(keychain).defaultCredential(for: space)?.user == "c")
    second.remove(credential("c"), for: space)
    await written(second)
    #expect(keychain.items.withLock { $0.isEmpty })
  }

  /// Also where the process that adds another one has not looked into the keychain.
  @Test(arguments: [true, false]) func theFirstCredentialStaysTheDefault(isRead: Bool) async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    first.set(credential("b"), for: space)
    await written(first)
    let second = storage(keychain)
    if isRead { _ = second.credentials(for: space) }
    second.set(credential("a"), for: space)
    await written(second)
    #expect(storage(keychain).defaultCredential(for: space)?.user == "b")
    #expect(second.defaultCredential(for: space)?.user == "b")
  }

  /// A credential of this process alone says nothing to others.
  @Test func theDefaultOfASessionIsNotKept() async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    first.set(credential("a"), for: space)
    first.setDefaultCredential(credential("b", "2", .forSession), for: space)
    await written(first)
    #expect(first.defaultCredential(for: space)?.user == "b")
    #expect(storage(keychain).defaultCredential(for: space)?.user == "a")
  }

  // MARK: Removing

  /// As on Apple's systems a credential is removed from both places.
  @Test func theCredentialOfASessionIsRemovedWithThePermanentOne() async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    first.set(credential("a"), for: space)
    await written(first)
    let second = storage(keychain)
    #expect(second.credentials(for: space) != nil)
    let own = credential("a", "2", .forSession)
    second.set(own, for: space)
    #expect(second.defaultCredential(for: space)?.password == "2")
    await written(second)
    // The permanent one is there until then, for other processes.
    #expect(storage(keychain).defaultCredential(for: space)?.password == "1")
    second.remove(own, for: space)
    await written(second)
    #expect(second.credentials(for: space) == nil)
    #expect(storage(keychain).credentials(for: space) == nil)
    #expect(keychain.items.withLock { $0.isEmpty })
  }

  @Test func aCredentialThatWasNeverPermanentIsNotLookedForInTheKeychain() async throws {
    let keychain = Keychain()
    let storage = storage(keychain)
    _ = storage.credentials(for: space)
    keychain.isBroken.withLock { $0 = true }
    storage.set(credential("a", "1", .forSession), for: space)
    storage.remove(credential("a"), for: space)
    await written(storage)
    #expect(keychain.failures.all.isEmpty)
  }

  // MARK: All credentials

  @Test func allCredentialsHaveThoseOfTheKeychain() async throws {
    let keychain = Keychain()
    let first = storage(keychain)
    let other = URLProtectionSpace(
      proxyHost: "proxy", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodHTTPDigest)
    for user in ["a", "b"] { first.set(credential(user), for: space) }
    first.setDefaultCredential(credential("b"), for: space)
    first.set(credential("p"), for: other)
    // Secrets that belong to no space.
    keychain.items.withLock {
      $0.append((SecretAttributes([.protocol: "urlsessiond", .realm: "queue", .user: "queue key"]), "key"))
    }
    await written(first)
    let second = storage(keychain)
    second.set(credential("a", "2", .forSession), for: space)
    let all = second.allCredentials
    #expect(all.mapValues { $0.keys.sorted() } == [space: ["a", "b"], other: ["p"]])
    #expect(all[space]?["a"]?.password == "2", "what this process has set is newer")
    #expect(second.defaultCredential(for: space)?.user == "b")
    #expect(second.allCredentials.count == 2)
    #expect(keychain.reads.all.count == 1, "the keychain is read once")
  }

  @Test func storagesOfOtherSessionsNeverTouchTheKeychain() {
    #expect(URLSessionConfiguration.ephemeral.urlCredentialStorage !== URLCredentialStorage.shared)
    let own = URLCredentialStorage()
    own.set(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    #expect(own.defaultCredential(for: space)?.user == "a")
    #expect(URLCredentialStorage().defaultCredential(for: space) == nil)
  }
}
