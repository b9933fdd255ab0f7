import SystemServices

/// Decides which addresses of a host are connected to, and when (RFC 8305). No resolver, no sockets, no clock.
///
/// 1. The answer for IPv6 is acted on at once; that for IPv4, which may come first, after the resolution delay (§3).
/// 2. The addresses are in the order of RFC 6724, and the families take turns (§4). Those to which no network leads are
///    tried when no other is left.
/// 3. The next address is tried when one has failed, or when the last one has not answered within the attempt delay (§5).
/// 4. The first attempt that connects ends the race. It is lost when every family was answered and every address failed.
struct AddressRace {
  /// The number of one attempt to connect.
  typealias Attempt = Int

  enum Timer: CaseIterable {
    /// How long an answer for one family waits for the family that is tried first.
    case resolutionDelay
    /// How long an attempt has before the next one is begun beside it.
    case attemptDelay
  }

  enum Action: Equatable {
    case connect(Attempt, NetworkAddress)
    /// Takes the place of a timer of the same kind that runs.
    case start(Timer)
    case stop(Timer)
    /// The attempt has won: the others are closed.
    case finish(Attempt)
    /// No address is left.
    case fail
  }

  private enum Phase {
    case resolving
    /// One family was answered, and the one that is tried first has a moment more.
    case delayed
    case connecting
    case over
  }

  /// The address that won the last race for the host.
  private let lastWinner: NetworkAddress?
  private var phase = Phase.resolving
  private var unanswered = Set(AddressFamily.allCases)
  /// The best first.
  private var untried: [DestinationOrder.Candidate] = []
  private var pending: Set<Attempt> = []
  private var lastAttempt: Attempt = 0
  private var lastFamily: AddressFamily?
  private var isAttemptDelayed = false

  /// - Parameter lastWinner: An address that is tried before all others, and whose family is tried first; nil for none.
  init(lastWinner: NetworkAddress? = nil) { self.lastWinner = lastWinner }

  var isOver: Bool { phase == .over }

  /// The lookup of a family has ended; call once for each. An empty list where the host has no such address.
  mutating func answered(_ family: AddressFamily, _ found: [DestinationOrder.Candidate]) -> [Action] {
    guard phase != .over, unanswered.remove(family) != nil else { return [] }
    untried = DestinationOrder.sorted(untried + found)
    switch phase {
    case .resolving:
      let isFirstChoice = family == lastWinner?.family ?? .v6
      if unanswered.isEmpty || isFirstChoice && !found.isEmpty { return begin() }
      guard !found.isEmpty else { return [] }
      phase = .delayed
      return [.start(.resolutionDelay)]
    case .delayed: return [.stop(.resolutionDelay)] + begin()
    case .connecting: return isAttemptDelayed ? [] : tryNext()
    case .over: return []
    }
  }

  /// The name servers are asked once more, while addresses are tried: `answered` is called for each family again, with those
  /// that are new.
  mutating func askedAgain() {
    guard phase == .connecting else { return }
    unanswered = Set(AddressFamily.allCases)
  }

  /// A timer that was started has run out.
  mutating func elapsed(_ timer: Timer) -> [Action] {
    switch (timer, phase) {
    case (.resolutionDelay, .delayed): return begin()
    case (.attemptDelay, .connecting) where isAttemptDelayed:
      isAttemptDelayed = false
      return tryNext()
    default: return []
    }
  }

  mutating func connected(_ attempt: Attempt) -> [Action] {
    guard phase == .connecting, pending.remove(attempt) != nil else { return [] }
    phase = .over
    return stopDelay() + [.finish(attempt)]
  }

  mutating func failed(_ attempt: Attempt) -> [Action] {
    guard phase == .connecting, pending.remove(attempt) != nil else { return [] }
    return tryNext()
  }

  private mutating func begin() -> [Action] {
    phase = .connecting
    return tryNext()
  }

  private mutating func tryNext() -> [Action] {
    guard let address = takeNext() else {
      guard pending.isEmpty, unanswered.isEmpty else { return stopDelay() }
      phase = .over
      return stopDelay() + [.fail]
    }
    lastAttempt += 1
    pending.insert(lastAttempt)
    // No timer where there is nothing to try when it has run out.
    let isLast = untried.isEmpty && unanswered.isEmpty
    let timer: [Action] = isLast ? stopDelay() : [.start(.attemptDelay)]
    isAttemptDelayed = !isLast
    return timer + [.connect(lastAttempt, address)]
  }

  private mutating func stopDelay() -> [Action] {
    guard isAttemptDelayed else { return [] }
    isAttemptDelayed = false
    return [.stop(.attemptDelay)]
  }

  /// First the winner of the last race or an address of its family, then the families in turn, one address each (the First
  /// Address Family Count of §8 is 1).
  private mutating func takeNext() -> NetworkAddress? {
    let usable = untried.indices.filter { untried[$0].source != nil }
    let family = lastFamily?.other ?? lastWinner?.family
    let again = lastFamily == nil ? usable.first { untried[$0].address == lastWinner } : nil
    // Such an address fails at once, and its failure says nothing of the server.
    let hopeless = pending.isEmpty && unanswered.isEmpty ? untried.indices.first : nil
    let next = again ?? usable.first { untried[$0].address.family == family } ?? usable.first ?? hopeless
    guard let next else { return nil }
    let address = untried.remove(at: next).address
    lastFamily = address.family
    return address
  }
}
