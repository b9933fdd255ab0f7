import NIOCore
import Synchronization

/// Asks for the addresses of names, for every session of the process.
///
/// `getaddrinfo` can be neither interrupted nor told how long to take. So who asks what somebody has just asked waits
/// for the same answer, and of one question no more than two are under way: a name that no server answers for keeps few
/// threads. A question that waits for a thread is not asked any more when nobody wants the answer.
package final class NameLookups: Sendable {
  package typealias Ask = @Sendable (NameQuestion) -> NameAnswer

  /// Who waits for which answer.
  package struct Ticket: Sendable {
    fileprivate let question: NameQuestion
    fileprivate let lookup: Int
    fileprivate let waiter: Int
  }

  fileprivate struct Lookup: Sendable {
    let number: Int
    let began: NIODeadline
    var waiters: [Int: @Sendable (NameAnswer) -> Void] = [:]
  }

  fileprivate struct State: Sendable {
    /// The oldest first.
    var lookups: [NameQuestion: [Lookup]] = [:]
    var lastNumber = 0
  }

  package static let system = NameLookups(on: BlockingWork.lookups) { SystemNames.ask($0) }

  /// The network may have changed since a question was asked that has had no answer for so long: the same question again
  /// may have one at once.
  fileprivate static let freshness = TimeAmount.seconds(2)
  fileprivate static let lookupsOfOneQuestion = 2

  private let threads: BlockingLanes
  private let ask: Ask
  private let state = Mutex(State())

  /// - Parameter ask: may block.
  package init(on threads: BlockingLanes, ask: @escaping Ask) {
    self.threads = threads
    self.ask = ask
  }

  /// Calls `waiter` once, on a thread of its own choice, unless the ticket is given back first.
  package func ask(
    _ question: NameQuestion, at now: NIODeadline = .now(), _ waiter: @escaping @Sendable (NameAnswer) -> Void
  ) -> Ticket {
    let (ticket, isNew) = state.withLock { $0.add(waiter, to: question, at: now) }
    if isNew { threads.run { self.run(question, ticket.lookup) } }
    return ticket
  }

  /// Nobody waits for the answer any more. It may be on its way.
  package func withdraw(_ ticket: Ticket) {
    state.withLock { state in
      guard let index = state.index(of: ticket.lookup, ticket.question) else { return }
      state.lookups[ticket.question]?[index].waiters[ticket.waiter] = nil
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
    let answer = ask(question)
    let waiters = state.withLock { state -> [@Sendable (NameAnswer) -> Void] in
      guard let index = state.index(of: number, question) else { return [] }
      return state.remove(index, question)
    }
    for waiter in waiters { waiter(answer) }
  }
}

extension NameLookups.State {
  mutating func add(
    _ waiter: @escaping @Sendable (NameAnswer) -> Void, to question: NameQuestion, at now: NIODeadline
  ) -> (NameLookups.Ticket, isNew: Bool) {
    lastNumber += 1
    let number = lastNumber
    var all = lookups[question] ?? []
    if let last = all.indices.last,
      now - all[last].began < NameLookups.freshness || all.count >= NameLookups.lookupsOfOneQuestion
    {
      all[last].waiters[number] = waiter
      lookups[question] = all
      return (NameLookups.Ticket(question: question, lookup: all[last].number, waiter: number), false)
    }
    lookups[question] = all + [NameLookups.Lookup(number: number, began: now, waiters: [number: waiter])]
    return (NameLookups.Ticket(question: question, lookup: number, waiter: number), true)
  }

  func index(of number: Int, _ question: NameQuestion) -> Int? {
    lookups[question]?.firstIndex { $0.number == number }
  }

  /// Returns who waited, first come first.
  @discardableResult
  mutating func remove(_ index: Int, _ question: NameQuestion) -> [@Sendable (NameAnswer) -> Void] {
    guard let removed = lookups[question]?.remove(at: index) else { return [] }
    if lookups[question]?.isEmpty == true { lookups[question] = nil }
    return removed.waiters.sorted { $0.key < $1.key }.map(\.value)
  }
}
