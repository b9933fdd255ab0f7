import NIOCore
import Synchronization
import SystemServices

/// Remembers until the machine's network changes which addresses names have, and which address of a server took a connection
/// (the history of RFC 8305 §4). Usable from any thread.
///
/// The network is watched from the first thing that is remembered to the first change, which makes all of it worthless.
package final class NameMemory: Sendable {
  /// The place that a connection leads to, and the conditions under which its addresses are chosen.
  struct Server: Hashable, Sendable {
    let host: String
    let port: Int
    let forbiddenNetworks: NetworkTraits
    let requiresProof: Bool

    init(_ key: ConnectionKey) {
      (host, port) = key.dialled
      forbiddenNetworks = key.forbiddenNetworks
      requiresProof = key.requiresDNSSEC
    }
  }

  /// An answer that is kept.
  struct KeptAnswer: Equatable, Sendable {
    /// Addresses, or that there are none.
    let answer: NameAnswer
    /// Whether it is past its time.
    let isStale: Bool
  }

  /// The facts of the machine, when a question is asked, on which its answer depends.
  struct Circumstances: Sendable {
    /// A number that changes with the network.
    let network: Int
    /// Of the table of names of this machine.
    let hosts: FileStamp?
  }

  /// An answer and what is known of it.
  private struct Note: Sendable {
    let answer: NameAnswer
    /// Tells it from other answers to the same question.
    let number: Int
    /// When it is past its time, as far as is known.
    var end: BootInstant
    /// How its name was resolved.
    var resolution: DomainResolution
    /// Of the table of names of this machine, when the question was asked.
    let hosts: FileStamp?
  }

  private struct State: Sendable {
    /// Addresses, and absences.
    var answers = BoundedTable<NameQuestion, Note>(capacity: NameMemory.capacity)
    var lastNumber = 0
    /// A number that changes with the network.
    var network = 0
    var winners = BoundedTable<Server, NetworkAddress>(capacity: NameMemory.capacity)
    /// The addresses of this machine from which packets to other addresses would come.
    var sources = BoundedTable<NetworkAddress, NetworkAddress>(capacity: NameMemory.mostSources)

    func isAbsent(_ question: NameQuestion) -> Bool {
      if case .failure? = answers.entry(for: question)?.value.answer { true } else { false }
    }
  }

  /// Most servers, and most questions.
  static let capacity = 1000
  /// How long it is kept beyond that, for requests that allow it.
  static let longestAnswerLifetime = TimeAmount.hours(24)
  /// How long it holds that a name has no address in one family: no record says so (RFC 2308 §5 has one to three hours).
  static let longestAbsence = TimeAmount.hours(1)
  /// How long a winner is tried first. It does not get longer when it wins again: then the better way would never be found
  /// again once it was lost.
  static let winnerLifetime = TimeAmount.minutes(10)
  /// Few: a full table is searched for the oldest.
  static let mostSources = 64
  /// Long enough for many connections to one server, and so short that a change of routes need not be reported.
  static let sourceLifetime = TimeAmount.seconds(1)

  private let networkWatch: NetworkWatch
  private let answerLifetime: TimeAmount
  private let hosts: @Sendable () -> FileStamp?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - answerLifetime: How long an answer holds of which no more is known. `getaddrinfo` does not say how long the name
  ///     server meant it to.
  ///   - hosts: What changes with the table of names of this machine.
  package init(
    networks: any NetworkDescribing = SystemNetworks.shared, answerLifetime: TimeAmount = .seconds(30),
    hosts: @escaping @Sendable () -> FileStamp? = { FileStamp.hosts() }
  ) {
    networkWatch = NetworkWatch(networks)
    self.answerLifetime = answerLifetime
    self.hosts = hosts
  }

  // MARK: Answers

  /// The answer that is kept; nil for none, and for one that is a day old. That a name has no address in one family holds
  /// as long as the addresses that it has in the other one, and no longer than they would.
  func answer(to question: NameQuestion, at now: BootInstant) -> KeptAnswer? {
    networkWatch.catchUp()
    let entries = state.withLock { state in
      [state.answers.entry(for: question), state.answers.entry(for: question.sibling)]
    }
    guard let entry = entries[0] else { return nil }
    var age = entry.noted.age(at: now)
    var isStale = now >= entry.value.end
    if case .failure = entry.value.answer {
      guard let sibling = entries[1], case .success = sibling.value.answer else { return nil }
      let lifetime = min(sibling.noted.age(at: sibling.value.end), NameMemory.longestAbsence)
      isStale = age >= lifetime || now >= sibling.value.end
      age = max(age, sibling.noted.age(at: now))
    }
    guard age < NameMemory.longestAnswerLifetime else { return nil }
    // A name that is new in the table of names is found as soon as without a time of its records.
    if !isStale, age >= answerLifetime { isStale = hosts() != entry.value.hosts }
    return KeptAnswer(answer: entry.value.answer, isStale: isStale)
  }

  /// How the name of an answer that is kept was resolved; nil for none.
  func resolution(of question: NameQuestion) -> DomainResolution? {
    state.withLock { $0.answers.entry(for: question)?.value.resolution }
  }

  /// Watches the network from now on. An answer to a question that is asked now can be noted with what this returns.
  func circumstances() -> Circumstances {
    // Before the question: an answer may be from before a change of the table that came while it was on its way.
    let hosts = self.hosts()
    networkWatch.catchUp()
    // Before the watch: a change ends it and changes the number, so that what is noted with this number is watched over.
    let network = state.withLock { $0.network }
    watch()
    return Circumstances(network: network, hosts: hosts)
  }

  /// Keeps what was found, and that there is no address, unless the network has changed since the question was asked. That
  /// there was no answer changes nothing. Returns a number, with which more can be said of the answer; nil where it is not kept.
  @discardableResult
  func note(
    _ answer: NameAnswer, to question: NameQuestion, by resolution: DomainResolution = .unknown,
    askedIn circumstances: Circumstances, at now: BootInstant
  ) -> Int? {
    networkWatch.catchUp()
    return state.withLock { state in
      guard state.network == circumstances.network else { return nil }
      switch answer {
      case .success(let addresses) where addresses.isEmpty: state.answers.remove(question)
      case .failure(let failure) where !failure.isAbsence: break
      case .failure where state.isAbsent(question.sibling):
        // A name that does not exist takes no place from others.
        for question in [question, question.sibling] { state.answers.remove(question) }
      case .success, .failure:
        state.lastNumber += 1
        let note = Note(
          answer: answer, number: state.lastNumber, end: now + answerLifetime, resolution: resolution,
          hosts: circumstances.hosts)
        state.answers.note(note, for: question, at: now)
        return note.number
      }
      return nil
    }
  }

  /// Says more of an answer that is kept, by its number: one that came in its place, or of another network, is left as it is.
  ///
  /// - Parameter end: When it is past its time; nil where nothing is known. One that is past it already is not kept for requests
  ///   that take old ones, either (RFC 8767 §4).
  func revise(
    _ number: Int, to question: NameQuestion, end: BootInstant?, by resolution: DomainResolution, at now: BootInstant
  ) {
    networkWatch.catchUp()
    state.withLock { state in
      guard var note = state.answers.entry(for: question)?.value, note.number == number else { return }
      if let end {
        guard end > now else { return state.answers.remove(question) }
        note.end = end
      }
      note.resolution = resolution
      state.answers.revise(note, for: question)
    }
  }

  /// The addresses that were kept led to no server that could be used.
  func forgetAnswers(about host: String) {
    state.withLock { state in
      for family in AddressFamily.allCases {
        for onlyUsable in [true, false] {
          state.answers.remove(NameQuestion(host: host, family: family, onlyUsableFamilies: onlyUsable))
        }
      }
    }
  }

  // MARK: Winners

  /// The address that took the last connection to `server`; nil where that is not known or long ago.
  func winner(of server: Server, at now: BootInstant = .now()) -> NetworkAddress? {
    networkWatch.catchUp()
    return state.withLock { state in
      guard let entry = state.winners.entry(for: server), entry.noted.age(at: now) < NameMemory.winnerLifetime else {
        return nil
      }
      return entry.value
    }
  }

  func noteWinner(_ address: NetworkAddress, of server: Server, at now: BootInstant = .now()) {
    guard winner(of: server, at: now) != address else { return }
    watch()
    state.withLock { $0.winners.note(address, for: server, at: now) }
  }

  /// No address took a connection.
  func forgetWinner(of server: Server) { state.withLock { $0.winners.remove(server) } }

  // MARK: Sources

  /// From which of this machine's addresses packets to `destination` would come; nil when no network leads there, which is found
  /// out each time. Takes a few system calls unless it was found a moment ago.
  func source(
    towards destination: NetworkAddress, at now: BootInstant = .now(),
    find: (NetworkAddress) -> NetworkAddress? = { SourceAddress.towards($0) }
  ) -> NetworkAddress? {
    networkWatch.catchUp()
    let kept = state.withLock { $0.sources.entry(for: destination) }
    if let kept, kept.noted.age(at: now) < NameMemory.sourceLifetime { return kept.value }
    let network = state.withLock { $0.network }
    guard let source = find(destination) else { return nil }
    state.withLock { if $0.network == network { $0.sources.note(source, for: destination, at: now) } }
    return source
  }

  // MARK: The network

  private func watch() {
    networkWatch.catchUp()
    networkWatch.begin { [weak self] in self?.networkChanged() }
  }

  private func networkChanged() {
    // First: what is kept from here on has a watch of its own, or is forgotten below.
    networkWatch.end()
    state.withLock { state in
      state.network += 1
      state.answers.removeAll()
      state.winners.removeAll()
      state.sources.removeAll()
    }
  }
}
