import NIOCore
import Synchronization
import SystemServices

/// Asks for the addresses of names, for every session of the process, and keeps the answers for a while.
///
/// `getaddrinfo` can be neither interrupted nor told how long to take. So a question that was asked a moment ago is not asked
/// again, its callers wait for the same answer, and of one question no more than two are under way: a name that no server
/// answers for keeps few threads. A question that waits for a thread is dropped when its last caller leaves.
package final class NameLookups: Sendable {
  package typealias Ask = @Sendable (NameQuestion) -> NameAnswer
  package typealias Sources = @Sendable () -> NameSources

  /// One caller's wait for an answer.
  package struct Subscription: Sendable {
    fileprivate let question: NameQuestion
    fileprivate let lookup: Int
    fileprivate let waiter: Int
  }

  fileprivate struct Lookup: Sendable {
    let number: Int
    let began: BootInstant
    var waiters: [Int: @Sendable (NameAnswer) -> Void] = [:]
  }

  fileprivate struct State: Sendable {
    /// The oldest first.
    var lookups: [NameQuestion: [Lookup]] = [:]
    var lastNumber = 0
  }

  package static let system = NameLookups(
    on: BlockingWork.lookups, sources: { SystemNameSources.shared.current() }, resolved: .system
  ) { SystemNames.ask($0) }

  /// The network may have changed since a question was asked that has had no answer for so long: the same question again
  /// may have one at once.
  fileprivate static let freshness = TimeAmount.seconds(2)
  fileprivate static let lookupsOfOneQuestion = 2

  /// Of the names that these lookups are for.
  let memory: NameMemory
  private let threads: BlockingLanes
  private let sources: Sources?
  private let resolved: ResolvedQuestions?
  private let ask: Ask
  private let state = Mutex(State())

  /// - Parameters:
  ///   - sources: Where `ask` finds names; may block. nil where that is not known.
  ///   - resolved: Says more of answers that come from systemd-resolved, after they are given.
  ///   - ask: may block.
  package init(
    on threads: BlockingLanes, memory: NameMemory = NameMemory(), sources: Sources? = nil,
    resolved: ResolvedQuestions? = nil, ask: @escaping Ask
  ) {
    self.threads = threads
    self.memory = memory
    self.sources = sources
    self.resolved = resolved
    self.ask = ask
  }

  /// Calls `waiter` once, on a thread of its own choice, unless the subscription is cancelled first. Returns nil where the
  /// answer is one that was kept: the waiter is called before this returns.
  package func ask(
    _ question: NameQuestion, _ freshness: NameFreshness = .current, at now: BootInstant = .now(),
    _ waiter: @escaping @Sendable (NameAnswer) -> Void
  ) -> Subscription? {
    guard freshness != .asked, let kept = memory.answer(to: question, at: now), freshness == .stale || !kept.isStale
    else { return subscribe(to: question, at: now, waiter) }
    // For those that ask later.
    if kept.isStale { _ = subscribe(to: question, at: now) { _ in } }
    waiter(kept.answer)
    return nil
  }

  private func subscribe(
    to question: NameQuestion, at now: BootInstant, _ waiter: @escaping @Sendable (NameAnswer) -> Void
  ) -> Subscription {
    let (subscription, isNew) = state.withLock { $0.add(waiter, to: question, at: now) }
    if isNew { threads.run { self.run(question, subscription.lookup) } }
    return subscription
  }

  /// The caller no longer waits. The answer may be on its way.
  package func cancel(_ subscription: Subscription) {
    state.withLock { state in
      guard let index = state.index(of: subscription.lookup, subscription.question) else { return }
      state.lookups[subscription.question]?[index].waiters[subscription.waiter] = nil
    }
  }

  /// How many wait for answers at the moment.
  package var waiterCount: Int {
    state.withLock { $0.lookups.values.joined().reduce(0) { $0 + $1.waiters.count } }
  }

  private func run(_ question: NameQuestion, _ number: Int) {
    let isWanted = state.withLock { state -> Bool in
      guard let index = state.index(of: number, question) else { return false }
      if state.lookups[question]?[index].waiters.isEmpty == false { return true }
      state.remove(index, question)
      return false
    }
    guard isWanted else { return }
    let way = sources?().way(of: question.host) ?? .unknown
    if way == .resolved { resolved?.refreshEncryption() }
    let circumstances = memory.circumstances()
    let answer = ask(question)
    let addresses = (try? answer.get()) ?? []
    let resolution = DomainResolution(way: way, encryption: resolved?.encryption(), addresses: addresses.count)
    let kept = memory.note(answer, to: question, by: resolution, askedIn: circumstances, at: .now())
    let waiters = state.withLock { state -> [@Sendable (NameAnswer) -> Void] in
      guard let index = state.index(of: number, question) else { return [] }
      return state.remove(index, question)
    }
    for waiter in waiters { waiter(answer) }
    // Only now: the callers do not wait for it.
    if way == .resolved, let kept, !addresses.isEmpty { askForTime(of: addresses, to: question, kept) }
  }

  private func askForTime(of addresses: [NetworkAddress], to question: NameQuestion, _ number: Int) {
    resolved?.report(on: addresses, to: question) { [memory] report in
      guard let report else { return }
      let resolution = DomainResolution(
        way: .resolved, encryption: report.encryption, isConfidential: report.time?.isConfidential,
        addresses: addresses.count)
      let end = report.time.map { report.asked + .seconds($0.seconds) }
      memory.revise(number, to: question, end: end, by: resolution, at: .now())
    }
  }
}

extension NameLookups.State {
  mutating func add(
    _ waiter: @escaping @Sendable (NameAnswer) -> Void, to question: NameQuestion, at now: BootInstant
  ) -> (NameLookups.Subscription, isNew: Bool) {
    lastNumber += 1
    let number = lastNumber
    var all = lookups[question] ?? []
    if let last = all.indices.last,
      all[last].began.age(at: now) < NameLookups.freshness || all.count >= NameLookups.lookupsOfOneQuestion
    {
      all[last].waiters[number] = waiter
      lookups[question] = all
      return (NameLookups.Subscription(question: question, lookup: all[last].number, waiter: number), false)
    }
    lookups[question] = all + [NameLookups.Lookup(number: number, began: now, waiters: [number: waiter])]
    return (NameLookups.Subscription(question: question, lookup: number, waiter: number), true)
  }

  func index(of number: Int, _ question: NameQuestion) -> Int? {
    lookups[question]?.firstIndex { $0.number == number }
  }

  /// Returns the waiters in the order of their arrival.
  @discardableResult
  mutating func remove(_ index: Int, _ question: NameQuestion) -> [@Sendable (NameAnswer) -> Void] {
    guard let removed = lookups[question]?.remove(at: index) else { return [] }
    if lookups[question]?.isEmpty == true { lookups[question] = nil }
    return removed.waiters.sorted { $0.key < $1.key }.map(\.value)
  }
}
