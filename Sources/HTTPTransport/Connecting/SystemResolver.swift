import NIOCore
import NIOPosix
import SystemServices

/// The name lookups of one connection: each family of addresses has its own, so that a server that does not answer for one
/// does not keep the other waiting (RFC 8305 §3). Remembers when it was asked and when there was something to connect to.
/// Confined to its loop.
final class SystemResolver: @unchecked Sendable {
  /// Gets the addresses of one family.
  typealias Answered = (AddressFamily, [NetworkAddress]) -> Void

  private struct Query {
    var question: NameQuestion?
    var subscription: NameLookups.Subscription?
    /// How the name was resolved, as far as was known with the answer.
    var resolution = DomainResolution.unknown
    /// The result so far; final when the query is settled.
    var result: Result<[NetworkAddress], LookupFailure>?
    var isSettled = false
  }

  private struct LookupFailure: Error {
    let reason: String
    var isAbsence = false
    var excluded: NetworkTraits?
  }

  private let loop: any EventLoop
  private let names: NameLookups
  private let access: NetworkAccess?
  private let provenNames: ProvenNames?
  private var freshness: NameFreshness
  /// Whether an answer is one that was kept from an earlier lookup.
  private(set) var hasKeptAnswers = false
  /// Counted up by `startAfresh`: answers that were on their way by then are none to the new questions.
  private var questionNumber = 0
  private var host = ""
  private var answered: Answered?
  private var queries: [AddressFamily: Query] = [:]
  private var lookups = FamilyLookups()
  private(set) var started: NIODeadline?
  /// When the last answer came before the first connection was begun.
  private var lastAnswer: NIODeadline?
  /// Whether an address was ever found: the name is resolved then, though it is asked about once more.
  private var wasFound = false
  private(set) var isConnecting = false
  /// Whether the failure is that the answer came without proof.
  private(set) var isUnproven = false

  /// - Parameter access: which addresses may be connected to; nil for all.
  /// - Parameter provenNames: asked instead of the system's resolver when answers need proof; nothing is kept of them.
  init(
    loop: any EventLoop, names: NameLookups, access: NetworkAccess? = nil, provenNames: ProvenNames? = nil,
    freshness: NameFreshness = .current
  ) {
    self.loop = loop
    self.freshness = freshness
    self.names = names
    self.access = access
    self.provenNames = provenNames
  }

  // MARK: Results

  private var results: [Result<[NetworkAddress], LookupFailure>] {
    AddressFamily.allCases.compactMap { queries[$0]?.result }
  }

  private var hasFound: Bool { results.contains { if case .success = $0 { true } else { false } } }

  private var failures: [LookupFailure] {
    results.compactMap { if case .failure(let failure) = $0 { failure } else { nil } }
  }

  /// When the name was resolved; nil where it is not.
  var ended: NIODeadline? { wasFound ? lastAnswer : nil }

  /// How the name was resolved; unknown where not all of its addresses came in the same way. More may be known later than with
  /// the answer.
  var resolution: DomainResolution {
    loop.assertInEventLoop()
    let found = queries.values.filter { query in if case .success? = query.result { true } else { false } }
    let resolutions = Set(found.map { resolution(of: $0) ?? $0.resolution })
    return resolutions.count == 1 ? resolutions.first ?? .unknown : .unknown
  }

  private func resolution(of query: Query) -> DomainResolution? {
    query.question.flatMap { names.memory.resolution(of: $0) }
  }

  /// Why there is no address, in the resolver's words; nil where there is one. A missing answer says more than that a
  /// family is absent.
  var failure: String? {
    hasFound ? nil : (failures.first { !$0.isAbsence } ?? failures.first)?.reason
  }

  /// Why the addresses that were found may not be connected to.
  var excluded: NetworkTraits? {
    let traits = failures.compactMap(\.excluded)
    return traits.isEmpty ? nil : traits.reduce([]) { $0.union($1) }
  }

  /// The first connection is begun; what is found later changes nothing about when the name was resolved.
  func connectingBegan() {
    loop.assertInEventLoop()
    isConnecting = true
  }

  // MARK: Asking

  /// Asks for the addresses of `host`. `answered` is called once for each family, on the loop and not before this returns:
  /// with none where there are none, or when the lookups are cancelled.
  func start(
    _ host: String, families: [AddressFamily] = [.v6, .v4], answered: @escaping Answered
  ) {
    loop.assertInEventLoop()
    started = started ?? .now()
    self.host = host
    self.answered = answered
    for family in families { queries[family] = Query() }
    // One question for both families.
    if let provenNames { return prove(with: provenNames) }
    for family in families { lookups.asked(family) }
    for family in families { ask(family, onlyUsableFamilies: true) }
  }

  /// Asks for the same host once more, of the name servers: what was kept was of no use.
  func startAfresh(answered: @escaping Answered) {
    loop.assertInEventLoop()
    // A late answer to an earlier question is none to these.
    for query in queries.values where !query.isSettled {
      if let subscription = query.subscription { names.cancel(subscription) }
    }
    questionNumber += 1
    freshness = .asked
    hasKeptAnswers = false
    lookups = FamilyLookups()
    start(host, families: Array(queries.keys), answered: answered)
  }

  /// Ends the wait for answers. Lookups that run can't be interrupted; their late answers are dropped.
  func cancel() {
    loop.assertInEventLoop()
    for (family, query) in queries where !query.isSettled {
      if let subscription = query.subscription { names.cancel(subscription) }
      settle(family, with: [])
    }
  }

  private func ask(_ family: AddressFamily, onlyUsableFamilies: Bool) {
    let question = NameQuestion(host: host, family: family, onlyUsableFamilies: onlyUsableFamilies)
    let number = questionNumber
    let subscription = names.ask(question, freshness) { [loop] answer in
      loop.execute { self.received(answer, for: family, to: number) }
    }
    queries[family]?.subscription = subscription
    queries[family]?.question = question
    if subscription == nil { hasKeptAnswers = true }
  }

  private func received(_ answer: NameAnswer, for family: AddressFamily, to number: Int) {
    loop.assertInEventLoop()
    guard number == questionNumber, queries[family]?.isSettled == false else { return }
    if !isConnecting { lastAnswer = .now() }
    if let resolution = queries[family].flatMap({ resolution(of: $0) }) { queries[family]?.resolution = resolution }
    switch answer {
    case .failure(let failure):
      concluded(family, .failure(LookupFailure(reason: failure.reason, isAbsence: failure.isAbsence)))
    case .success(let found):
      choose(found) { if number == self.questionNumber { self.concluded(family, $0) } }
    }
  }

  private func concluded(_ family: AddressFamily, _ result: Result<[NetworkAddress], LookupFailure>) {
    loop.assertInEventLoop()
    guard queries[family]?.isSettled == false else { return }
    queries[family]?.result = result
    if case .success = result { wasFound = true }
    let outcome: FamilyLookups.Outcome =
      switch result {
      case .success: .found
      case .failure(let failure): failure.isAbsence ? .absent : .failed
      }
    for action in lookups.answered(family, outcome) {
      switch action {
      case .settle(let family): settle(family)
      case .askAgain(let family):
        queries[family]?.result = nil
        ask(family, onlyUsableFamilies: false)
      }
    }
  }

  private func settle(_ family: AddressFamily) {
    guard let query = queries[family], !query.isSettled, let result = query.result else { return }
    settle(family, with: (try? result.get()) ?? [])
  }

  private func settle(_ family: AddressFamily, with addresses: [NetworkAddress]) {
    queries[family]?.isSettled = true
    let answered = self.answered
    // The last call ends what it keeps alive.
    if queries.values.allSatisfy(\.isSettled) { self.answered = nil }
    answered?(family, addresses)
  }

  /// Leaves out the addresses that must not be connected to. May take a thread's time.
  private func choose(
    _ addresses: [NetworkAddress], _ completion: @escaping (Result<[NetworkAddress], LookupFailure>) -> Void
  ) {
    guard let access else { return completion(.success(addresses)) }
    BlockingWork.networks.runIfActive(eventLoop: loop) { () -> Result<[NetworkAddress], LookupFailure> in
      do throws(NetworkAccess.Excluded) { return .success(try access.permitted(addresses)) } catch {
        return .failure(LookupFailure(reason: "no network to it may be used", excluded: error.traits))
      }
    }.assumeIsolated().whenComplete { result in
      completion(result.mapError { LookupFailure(reason: "\($0)") }.flatMap { $0 })
    }
  }

  // MARK: Proof

  private func prove(with names: ProvenNames) {
    BlockingWork.lookups.run { [loop, host] in
      let result = Result { () throws(ProvenNames.Failure) in try names.addresses(of: host) }
      loop.execute { self.proved(result) }
    }
  }

  private func proved(_ result: Result<[NetworkAddress], ProvenNames.Failure>) {
    loop.assertInEventLoop()
    if !isConnecting { lastAnswer = .now() }
    switch result {
    case .failure(let failure):
      isUnproven = true
      let reason =
        switch failure {
        case .unavailable: "systemd-resolved, which could prove it, is not there or has no answer"
        case .unproven: "the domain is not signed, or systemd-resolved does not validate"
        }
      settleAll(.failure(LookupFailure(reason: reason)))
    case .success(let found):
      choose(found) { self.settleAll($0) }
    }
  }

  private func settleAll(_ result: Result<[NetworkAddress], LookupFailure>) {
    for family in AddressFamily.allCases {
      queries[family]?.result = result.map { $0.filter { $0.family == family } }
      if case .success = result { wasFound = true }
      settle(family)
    }
  }
}
