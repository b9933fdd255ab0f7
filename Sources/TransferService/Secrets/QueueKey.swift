import Crypto
import Foundation
import Synchronization
import SystemServices

/// The key that seals secrets in the queue, so that they outlive the service without lying in its file. It is made
/// at its first use and kept where the user's secrets are; without such a place there is no key, and nothing is sealed.
///
/// Nothing here blocks: the place is asked in the background, and the user is asked nothing. May be used from any thread.
package final class QueueKey: Sendable {
  private enum State {
    case unused
    case opening([@Sendable () -> Void])
    case open(SymmetricKey)
    case unavailable
  }

  private let queue: String
  private let file: QueueKeyFile?
  /// The key of the file, once it was needed.
  private let fileKey = Mutex<SymmetricKey?>(nil)
  private let openStore: @Sendable () async -> (any SecretStore)?
  private let state = Mutex(State.unused)
  private let wasSettled = Atomic<Bool>(false)
  /// For answers, where there is no other key. It ends with the service.
  private let passingKey = SymmetricKey(size: SymmetricKeySize(bitCount: QueueKey.length * 8))

  private static let length = 32

  /// - Parameters:
  ///   - queue: The name of the queue; each has a key of its own.
  ///   - file: The path of the file for a key that is made where there is no keychain: for what must not be lost. nil for
  ///     none.
  ///   - openStore: The place for the key; nil where there is none.
  package init(
    ofQueue queue: String, file: String? = nil, openStore: @escaping @Sendable () async -> (any SecretStore)?
  ) {
    self.queue = queue
    self.file = file.map { QueueKeyFile(path: $0, length: QueueKey.length) }
    self.openStore = openStore
  }

  /// Whether it is known if there is a key.
  package var isSettled: Bool {
    state.withLock { state in
      switch state {
      case .open, .unavailable: true
      case .unused, .opening: false
      }
    }
  }

  /// Whether it was known at some time if there is a key. A key of the keychain that is known stays known.
  var hasSettled: Bool { wasSettled.load(ordering: .acquiring) }

  /// Whether the key of the keychain is known. It stays known.
  var hasKeychain: Bool { key != nil }

  /// Asks for the key where there is none yet.
  ///
  /// - Parameter settled: Called once, on any thread, when the answer is there.
  package func open(_ settled: @escaping @Sendable () -> Void) {
    let (begins, isOpen) = state.withLock { state -> (Bool, Bool) in
      switch state {
      case .open: return (false, true)
      case .opening(let waiting):
        state = .opening(waiting + [settled])
        return (false, false)
      // A keychain that was locked may be open now.
      case .unused, .unavailable:
        state = .opening([settled])
        return (true, false)
      }
    }
    if isOpen { settled() }
    guard begins else { return }
    Task.detached { [self] in
      let key = await find()
      if key == nil { makeFileKey() }
      let waiting = state.withLock { state -> [@Sendable () -> Void] in
        // With the state: a caller that sees the one sees the other.
        wasSettled.store(true, ordering: .releasing)
        guard case .opening(let waiting) = state else { return [] }
        state = key.map { .open($0) } ?? .unavailable
        return waiting
      }
      for settled in waiting { settled() }
    }
  }

  private func find() async -> SymmetricKey? {
    guard let store = await openStore() else { return nil }
    let attributes = SecretAttributes([.protocol: "urlsessiond", .realm: queue, .user: "queue key"])
    do {
      let found = try await store.find(attributes).first { $0.secret.count == QueueKey.length }
      if let found { return found.secret.withBytes { SymmetricKey(data: $0) } }
      let made = SymmetricKey(size: SymmetricKeySize(bitCount: QueueKey.length * 8))
      try await store.store(made.withUnsafeBytes { SecretBytes(copying: $0) }, for: attributes)
      return made
    } catch { return nil }
  }

  // MARK: Sealing

  /// - Parameter purpose: The same text has to be given when it is opened: a sealed secret is of no use elsewhere.
  /// - Returns: nil without a key.
  package func seal(_ secret: SecretBytes, for purpose: String) -> Data? {
    guard let key else { return nil }
    let box = secret.withBytes { try? AES.GCM.seal($0, using: key, authenticating: Data(purpose.utf8)) }
    return box?.combined
  }

  /// nil without the key, and for what was sealed with another one or for another purpose.
  package func unseal(_ sealed: Data, for purpose: String) -> SecretBytes? {
    guard let key, let box = try? AES.GCM.SealedBox(combined: sealed),
      var bytes = try? AES.GCM.open(box, using: key, authenticating: Data(purpose.utf8))
    else { return nil }
    defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
    return bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  // MARK: What must not be lost

  /// The place of the key that sealed something: the first byte.
  private enum Place: UInt8 {
    case keychain = 1
    case file = 2
    /// In the memory of the service that sealed it.
    case memory = 3
  }

  package enum Unsealed: Sendable, Equatable {
    case open(Data)
    /// The keychain has the key and can't be read now.
    case locked
    /// There is no key any more that opens it.
    case lost
  }

  /// Seals with the key of the keychain, else with that of the file, also while the keychain is asked again.
  ///
  /// - Returns: nil without either, and before it was known at some time whether there is a keychain.
  package func sealFields(_ content: Data, for purpose: String) -> Data? {
    let (place, key): (Place, SymmetricKey?) =
      self.key.map { (.keychain, $0) } ?? (.file, fileKey.withLock { $0 })
    guard hasSettled, let key,
      let box = try? AES.GCM.seal(content, using: key, authenticating: Data(purpose.utf8)).combined
    else { return nil }
    return Data([place.rawValue]) + box
  }

  /// The same for an answer, which comes at most once and must not keep its transfer from ending: where there is neither a
  /// keychain nor a file for a key, it can be read by this life of the service alone. nil where nothing can be sealed.
  ///
  /// - Parameter isInQueue: whether the queue has it in clear: such an answer is not sealed by a key that ends with the
  ///   service.
  func sealAnswer(_ content: Data, for purpose: String, isInQueue: Bool = false) -> Data? {
    let (place, key): (Place, SymmetricKey)
    if let known = self.key {
      (place, key) = (.keychain, known)
    } else if let known = fileKey.withLock({ $0 }) {
      (place, key) = (.file, known)
    } else if !isInQueue {
      (place, key) = (.memory, passingKey)
    } else {
      return nil
    }
    let box = try? AES.GCM.seal(content, using: key, authenticating: Data(purpose.utf8)).combined
    return box.map { Data([place.rawValue]) + $0 }
  }

  package func unsealFields(_ sealed: Data, for purpose: String) -> Unsealed {
    let key: SymmetricKey?
    switch sealed.first.flatMap({ Place(rawValue: $0) }) {
    case .keychain:
      key = self.key
      if key == nil { return .locked }
    case .file: key = loadFileKey()
    case .memory: key = passingKey
    case nil: return .lost
    }
    guard let key, let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst()),
      let content = try? AES.GCM.open(box, using: key, authenticating: Data(purpose.utf8))
    else { return .lost }
    return .open(content)
  }

  private func makeFileKey() {
    fileKey.withLock { known in
      if known == nil { known = try? file?.loadOrMake() }
    }
  }

  private func loadFileKey() -> SymmetricKey? {
    fileKey.withLock { known in
      if known == nil { known = try? file?.load() }
      return known
    }
  }

  private var key: SymmetricKey? {
    state.withLock { if case .open(let key) = $0 { key } else { nil } }
  }
}
