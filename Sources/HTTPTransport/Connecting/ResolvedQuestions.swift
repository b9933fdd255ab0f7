import NIOCore
import Synchronization
import SystemServices

/// Asks systemd-resolved, beside the lookups of names, how long their answers hold and whether it asks over TLS. No caller waits
/// for it: what it says changes what is kept. One question is under way at a time, on a thread that ends when there are none; of
/// many that wait the latest are dropped, and where nothing answers none is asked for a while. Usable from any thread.
package final class ResolvedQuestions: Sendable {
  /// Begins to ask; nil where there is no message bus. May block.
  package typealias Open = @Sendable () -> (any ResolvedAsking)?

  /// Facts about one answer.
  struct Report: Sendable {
    /// nil where it does not say.
    let time: AnswerTime?
    /// When it was asked for the time.
    let asked: BootInstant
    let encryption: EncryptedDNS?
  }

  fileprivate struct State: Sendable {
    var waiting = 0
    /// Nothing is asked before.
    var restsUntil: BootInstant?
    /// Whether it does not know how to answer about its cache alone.
    var isTimeRefused = false
    var encryption: EncryptedDNS?
    var encryptionRead: BootInstant?
    /// Whether a question that reads nothing but `encryption` waits or is under way.
    var isRefreshing = false
  }

  /// nil on a machine without a message bus.
  package static let system: ResolvedQuestions? =
    ResolvedRecords.isAvailable ? ResolvedQuestions(on: BlockingWork.times) { ResolvedCache() } : nil

  static let mostWaiting = 64
  static let rest = TimeAmount.minutes(1)
  /// No signal tells of a change of its settings: they are read again for a lookup that begins later than that.
  static let encryptionTrust = TimeAmount.seconds(5)
  static let longestEncryptionTrust = TimeAmount.minutes(1)

  private let threads: BlockingLanes
  private let open: Open
  private let state = Mutex(State())

  /// - Parameter threads: One is enough.
  package init(on threads: BlockingLanes, open: @escaping Open) {
    self.threads = threads
    self.open = open
  }

  /// Whether it asks over TLS, as it said not long ago; nil where it did not say.
  func encryption(at now: BootInstant = .now()) -> EncryptedDNS? {
    state.withLock { state in
      guard let read = state.encryptionRead, read.age(at: now) < ResolvedQuestions.longestEncryptionTrust else {
        return nil
      }
      return state.encryption
    }
  }

  /// Has `encryption` read where that was long ago, in time for the end of a lookup that is about to begin. Once for all lookups
  /// that begin meanwhile: the room for questions is for their answers.
  func refreshEncryption(at now: BootInstant = .now()) {
    guard isEncryptionOld(at: now), state.withLock({ $0.beginRefreshing() }) else { return }
    submit(at: now) { asking throws(ResolvedCache.Failure) in
      try self.readEncryption(asking)
      self.refreshed()
    } otherwise: {
      self.refreshed()
    }
  }

  private func refreshed() { state.withLock { $0.isRefreshing = false } }

  /// Calls `completion` once, on a thread of its own choice; with nothing where that is not known, and perhaps before this returns.
  func report(
    on addresses: [NetworkAddress], to question: NameQuestion, at now: BootInstant = .now(),
    _ completion: @escaping @Sendable (Report?) -> Void
  ) {
    submit(at: now) { asking throws(ResolvedCache.Failure) in
      try self.readEncryption(asking)
      let asked = BootInstant.now()
      let time = try self.time(of: addresses, question, asking)
      completion(Report(time: time, asked: asked, encryption: self.encryption()))
    } otherwise: {
      completion(nil)
    }
  }

  // MARK: On the thread

  private func readEncryption(_ asking: any ResolvedAsking) throws(ResolvedCache.Failure) {
    guard isEncryptionOld(at: .now()) else { return }
    var encryption: EncryptedDNS?
    do { encryption = try asking.encryption() } catch { if error == .unavailable { throw error } }
    state.withLock { state in
      state.encryption = encryption
      state.encryptionRead = .now()
    }
  }

  private func time(
    of addresses: [NetworkAddress], _ question: NameQuestion, _ asking: any ResolvedAsking
  ) throws(ResolvedCache.Failure) -> AnswerTime? {
    guard state.withLock({ !$0.isTimeRefused }) else { return nil }
    do {
      return try AnswerTime.find(question, addresses) { name, type throws(ResolvedCache.Failure) in
        try asking.answer(name, type: type)
      }
    } catch {
      guard error == .refused else { throw error }
      // Older than systemd 248.
      state.withLock { $0.isTimeRefused = true }
      return nil
    }
  }

  // MARK: Order

  private func isEncryptionOld(at now: BootInstant) -> Bool {
    state.withLock { $0.encryptionRead.map { $0.age(at: now) >= ResolvedQuestions.encryptionTrust } ?? true }
  }

  /// `otherwise` is called where `work` does not succeed, or is not begun.
  private func submit(
    at now: BootInstant, _ work: @escaping @Sendable (any ResolvedAsking) throws(ResolvedCache.Failure) -> Void,
    otherwise: @escaping @Sendable () -> Void
  ) {
    let mayWait = state.withLock { state in
      guard !state.rests(at: now), state.waiting < ResolvedQuestions.mostWaiting else { return false }
      state.waiting += 1
      return true
    }
    guard mayWait else { return otherwise() }
    threads.run {
      let rests = self.state.withLock { state in
        state.waiting -= 1
        return state.rests(at: .now())
      }
      guard !rests else { return otherwise() }
      do {
        guard let asking = self.open() else { throw ResolvedCache.Failure.unavailable }
        try work(asking)
      } catch {
        self.gaveUp()
        otherwise()
      }
    }
  }

  private func gaveUp() {
    state.withLock { state in
      state.restsUntil = BootInstant.now() + ResolvedQuestions.rest
      state.encryption = nil
      state.encryptionRead = nil
    }
  }
}

extension ResolvedQuestions.State {
  /// Returns false where it is under way already.
  fileprivate mutating func beginRefreshing() -> Bool {
    defer { isRefreshing = true }
    return !isRefreshing
  }

  fileprivate func rests(at now: BootInstant) -> Bool { restsUntil.map { now < $0 } ?? false }
}
