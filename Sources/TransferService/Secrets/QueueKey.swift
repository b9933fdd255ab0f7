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

  private struct FileState {
    /// Once it was needed.
    var key: SymmetricKey?
    /// Whether the queue has something that it has sealed, so that none is made in its place.
    var isExpected = false
    /// Why there is none: a clause.
    var fault: String?
  }

  private let queue: String
  private let file: QueueKeyFile?
  private let fileState = Mutex(FileState())
  private let clock: any ServiceClock
  private let report: @Sendable (String) -> Void
  private let openStore: @Sendable () async -> (any SecretStore)?
  private let state = Mutex(State.unused)
  private let wasSettled = Atomic<Bool>(false)
  /// For answers, where there is no other key. It ends with the service.
  private let passingKey = SymmetricKey(size: SymmetricKeySize(bitCount: QueueKey.length * 8))

  private static let length = 32
  /// Seconds for which a file that is missing is waited for, before what it has sealed is given up.
  static let missingPatience: TimeInterval = 86_400

  /// - Parameters:
  ///   - queue: The name of the queue; each has a key of its own.
  ///   - file: The path of the file for a key that is made where there is no keychain: for what must not be lost. nil for
  ///     none.
  ///   - report: called with what the user should know of the file, on any thread.
  ///   - openStore: The place for the key; nil where there is none.
  package init(
    ofQueue queue: String, file: String? = nil, clock: any ServiceClock = SystemClock(),
    report: @escaping @Sendable (String) -> Void = { _ in },
    openStore: @escaping @Sendable () async -> (any SecretStore)?
  ) {
    self.queue = queue
    self.clock = clock
    self.report = report
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
    /// The keychain or the file has the key and can't be read now, or the file has been missing for a short time: a clause.
    case locked(because: String)
    /// There is no key any more that opens it.
    case lost
  }

  /// Of a keychain that can't be read.
  static let keychainIsLocked = "the keychain with the key is locked"

  /// Seals with the key of the keychain, else with that of the file, also while the keychain is asked again.
  ///
  /// - Returns: nil without either, and before it was known at some time whether there is a keychain.
  package func sealFields(_ content: Data, for purpose: String) -> Data? {
    let (place, key): (Place, SymmetricKey?) =
      self.key.map { (.keychain, $0) } ?? (.file, fileState.withLock { $0.key })
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
    } else if let known = fileState.withLock({ $0.key }) {
      (place, key) = (.file, known)
    } else if !isInQueue {
      (place, key) = (.memory, passingKey)
    } else {
      return nil
    }
    let box = try? AES.GCM.seal(content, using: key, authenticating: Data(purpose.utf8)).combined
    return box.map { Data([place.rawValue]) + $0 }
  }

  static func isSealedByFile(_ sealed: Data?) -> Bool { sealed?.first == Place.file.rawValue }

  package func unsealFields(_ sealed: Data, for purpose: String) -> Unsealed {
    let key: SymmetricKey?
    switch sealed.first.flatMap({ Place(rawValue: $0) }) {
    case .keychain:
      key = self.key
      if key == nil { return .locked(because: QueueKey.keychainIsLocked) }
    case .file:
      switch fileKey() {
      case .key(let known): key = known
      case .locked(let cause): return .locked(because: cause)
      case .lost: return .lost
      }
    case .memory: key = passingKey
    case nil: return .lost
    }
    guard let key, let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst()),
      let content = try? AES.GCM.open(box, using: key, authenticating: Data(purpose.utf8))
    else { return .lost }
    return .open(content)
  }

  // MARK: The file

  private enum FileKey {
    case key(SymmetricKey)
    case locked(String)
    case lost
  }

  /// Why there is no key in the file: a clause; nil where there is one, or none was needed.
  var fileFault: String? { fileState.withLock { $0.fault } }

  /// The queue has something that the file's key has sealed: where the file is missing, no other key is made before that is
  /// given up.
  func expectFile() { fileState.withLock { $0.isExpected = true } }

  private func makeFileKey() {
    guard let file else { return }
    fileState.withLock { state in
      guard case .lost = load(file, &state) else { return }
      do {
        let made = try file.make()
        file.forgetMissingTime()
        (state.key, state.isExpected) = (made, false)
        note(nil, &state)
      } catch { note("the file for the key can't be made: \(error)", &state) }
    }
  }

  private func fileKey() -> FileKey {
    guard let file else { return .lost }
    return fileState.withLock { state in
      state.isExpected = true
      return load(file, &state)
    }
  }

  /// Lost: there is none, and none is waited for.
  private func load(_ file: QueueKeyFile, _ state: inout FileState) -> FileKey {
    if let key = state.key { return .key(key) }
    do {
      let content = try file.load { mode in
        report("\(file.path) was open to others or closed to its user (mode \(String(mode, radix: 8))); it is 0600 now")
      }
      switch content {
      case .key(let key):
        state.key = key
        file.forgetMissingTime()
        note(nil, &state)
        return .key(key)
      case .damaged, .missing:
        guard state.isExpected else { return .lost }
        let fault = if case .damaged = content { "is shorter than a key" } else { "is gone" }
        let cause =
          "the key is missing: \(file.path) \(fault). Bring it back from a backup; what it has sealed is given up a day "
          + "after that was noticed"
        note(cause, &state)
        let time = file.missingTime(clock: clock, limit: QueueKey.missingPatience)
        return time < QueueKey.missingPatience ? .locked(cause) : .lost
      }
    } catch {
      let cause = "the file of the key can't be read: \(error)"
      note(cause, &state)
      return .locked(cause)
    }
  }

  /// Reports each cause once.
  private func note(_ fault: String?, _ state: inout FileState) {
    if let fault, fault != state.fault { report(fault) }
    state.fault = fault
  }

  private var key: SymmetricKey? {
    state.withLock { if case .open(let key) = $0 { key } else { nil } }
  }
}
