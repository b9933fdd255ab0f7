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
    let isBroken: Bool
    let reads = Recorder<SecretAttributes>()

    init(isBroken: Bool = false) { self.isBroken = isBroken }

    private func matches(_ item: SecretAttributes, _ query: SecretAttributes) -> Bool {
      SecretAttributes.Name.allCases.allSatisfy { name in query[name].map { $0 == item[name] ?? "" } ?? true }
    }

    private func check() throws { if isBroken { throw SecretStoreUnavailable(.noBus) } }

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

    func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] { items.withLock { $0.map(\.0) } }
  }

  private let space = URLProtectionSpace(
    host: "h", port: 443, protocol: "https", realm: "r", authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

  private func storage(_ keychain: Keychain) -> URLCredentialStorage {
    URLCredentialStorage(PermanentCredentials { keychain })
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

  @Test func storagesOfOtherSessionsNeverTouchTheKeychain() {
    #expect(URLSessionConfiguration.ephemeral.urlCredentialStorage !== URLCredentialStorage.shared)
    let own = URLCredentialStorage()
    own.set(URLCredential(user: "a", password: "1", persistence: .permanent), for: space)
    #expect(own.defaultCredential(for: space)?.user == "a")
    #expect(URLCredentialStorage().defaultCredential(for: space) == nil)
  }
}
