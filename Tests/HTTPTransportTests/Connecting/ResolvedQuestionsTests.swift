import Dispatch
import LoopbackServer
import NIOCore
import RealServers
import SystemFakes
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct ResolvedQuestionsTests {
  private static let address = NetworkAddress([192, 0, 2, 1])
  private static let threads = BlockingLanes(limit: 16)
  private static let sources = NameSources(
    switches: nil, resolver: "nameserver 127.0.0.53", options: nil, hosts: "192.0.2.1 listed.example", ownName: "")

  private let question = NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true)
  private let opened = Recorder<Int>()
  private let reports = Recorder<ResolvedQuestions.Report?>()
  private let start = BootInstant.now()

  private func script(_ lifetime: UInt32 = 300, flags: ResolvedCache.Flags = ScriptedResolved.flags) -> ScriptedResolved
  {
    var script = ScriptedResolved()
    script.add("a.example", [WireRecord.address("a.example", lifetime, [192, 0, 2, 1])], flags: flags)
    return script
  }

  private func questions(_ open: @escaping ResolvedQuestions.Open) -> ResolvedQuestions {
    ResolvedQuestions(on: BlockingLanes(limit: 1, patience: .hours(1), most: 1)) { [opened] in
      opened.record(1)
      return open()
    }
  }

  private func ask(_ questions: ResolvedQuestions, after age: TimeAmount = .zero) {
    questions.report(on: [Self.address], to: question, at: start + age) { [reports] in reports.record($0) }
  }

  // MARK: Questions

  @Test func aReportHasATimeAndAMode() async throws {
    let script = script()
    let questions = questions { script }
    ask(questions)
    let report = try #require(try await reports.next())
    #expect(report.time == AnswerTime(seconds: 300, isConfidential: false) && report.encryption == .never)
    #expect(questions.encryption() == .never && questions.encryption(at: .now() + .minutes(2)) == nil)
  }

  /// One older than systemd 248 does not know the flag: it is not asked once more, though how it asks is.
  @Test func oneThatRefusesIsNotAskedAgain() async throws {
    let asked = Recorder<String>()
    var script = ScriptedResolved()
    script.answers[.init(name: "a.example", type: 1)] = .failure(.refused)
    script.mode = .success(.always)
    script.asked = { name, _ in asked.record(name) }
    let questions = questions { [script] in script }
    for count in 1...2 {
      ask(questions)
      let report = try #require(try await reports.first(count).last)
      #expect(report?.time == nil && report?.encryption == .always)
    }
    #expect(asked.count == 1)
  }

  @Test func oneThatDoesNotSayHowItAsksIsAskedForTimes() async throws {
    var script = script()
    script.mode = .failure(.refused)
    let questions = questions { [script] in script }
    ask(questions)
    let report = try #require(try await reports.next())
    #expect(report.time?.seconds == 300 && report.encryption == nil)
  }

  /// Neither without a bus nor where nothing answers on it.
  @Test(arguments: [true, false]) func nothingIsAskedForAWhileWhereNothingAnswers(_ hasBus: Bool) async throws {
    var script = script()
    script.mode = .failure(.unavailable)
    let questions = questions { [script] in hasBus ? script : nil }
    ask(questions)
    let report = try await reports.next()
    #expect(report == nil)
    for age: TimeAmount in [.zero, .seconds(59)] { ask(questions, after: age) }
    questions.refreshEncryption(at: start + .seconds(59))
    #expect(reports.count == 3 && opened.count == 1)
  }

  /// Questions whose bus opens once the semaphore is signalled.
  private func heldQuestions() -> (ResolvedQuestions, DispatchSemaphore) {
    let release = DispatchSemaphore(value: 0)
    let script = script()
    let questions = questions {
      release.wait()
      release.signal()
      return script
    }
    return (questions, release)
  }

  /// A bus that does not answer holds up one thread, and few questions wait for it.
  @Test func questionsBeyondTheBoundAreDropped() async throws {
    let (questions, release) = heldQuestions()
    ask(questions)
    _ = try await opened.next()
    for _ in 0..<ResolvedQuestions.mostWaiting { ask(questions) }
    #expect(reports.count == 0)
    for _ in 0..<3 { ask(questions) }
    #expect(reports.count == 3 && reports.all.allSatisfy { $0 == nil })
    release.signal()
    let all = try await reports.first(3 + 1 + ResolvedQuestions.mostWaiting)
    #expect(all.count { $0 != nil } == 1 + ResolvedQuestions.mostWaiting)
  }

  /// Many lookups that begin at a time take no room from the questions about their answers.
  @Test func howItAsksIsReadOnceForManyLookups() async throws {
    let (questions, release) = heldQuestions()
    for _ in 0...ResolvedQuestions.mostWaiting { questions.refreshEncryption() }
    ask(questions)
    #expect(reports.count == 0)
    release.signal()
    #expect(try await reports.next()?.time?.seconds == 300)
    #expect(opened.count == 2)
    // The next ones are no part of that.
    questions.refreshEncryption(at: .now() + ResolvedQuestions.encryptionTrust)
    _ = try await opened.first(3)
  }

  @Test func howItAsksIsReadAgainAfterThatWasDropped() async throws {
    let (questions, release) = heldQuestions()
    ask(questions)
    _ = try await opened.next()
    for _ in 0..<ResolvedQuestions.mostWaiting { ask(questions) }
    questions.refreshEncryption()
    release.signal()
    let answered = 1 + ResolvedQuestions.mostWaiting
    _ = try await reports.first(answered)
    questions.refreshEncryption(at: .now() + ResolvedQuestions.encryptionTrust)
    _ = try await opened.first(answered + 1)
  }

  // MARK: With lookups

  private func lookups(
    _ memory: NameMemory, _ script: ScriptedResolved,
    asked: @escaping @Sendable () -> Void = {}
  ) -> NameLookups {
    NameLookups(
      on: Self.threads, memory: memory, sources: { Self.sources },
      resolved: questions {
        asked()
        return script
      }
    ) { _ in .success([Self.address]) }
  }

  private func look(up host: String = "a.example", in lookups: NameLookups) async throws {
    let answers = Recorder<NameAnswer>()
    let question = NameQuestion(host: host, family: .v4, onlyUsableFamilies: true)
    _ = lookups.ask(question) { answers.record($0) }
    #expect(try await answers.next() == .success([Self.address]))
  }

  private func isStale(_ memory: NameMemory, after age: TimeAmount) -> Bool? {
    memory.answer(to: question, at: .now() + age)?.isStale
  }

  /// Earlier and later than without a time, and by more than a test takes.
  @Test(
    arguments: [
      (600, .seconds(300), .seconds(600)), (7_200, .seconds(6_900), .seconds(7_200)),
    ] as [(UInt32, TimeAmount, TimeAmount)])
  func theEndOfAnAnswerIsMoved(_ lifetime: UInt32, _ before: TimeAmount, _ after: TimeAmount) async throws {
    let memory = NameMemory(networks: FakeNetworks(), answerLifetime: .hours(1), hosts: { nil })
    let lookups = lookups(memory, script(lifetime, flags: [.dns, .confidential]))
    try await look(in: lookups)
    try await eventually("the end to be moved") {
      isStale(memory, after: before) == false && isStale(memory, after: after) == true
    }
  }

  @Test func anAnswerThatIsNotToBeKeptIsForgotten() async throws {
    let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
    let release = DispatchSemaphore(value: 0)
    let lookups = lookups(memory, script(0)) { release.wait() }
    // Once for how it asks, once for the answer.
    try await look(in: lookups)
    #expect(isStale(memory, after: .zero) == false)
    for _ in 0..<2 { release.signal() }
    try await eventually("the answer to be forgotten") { isStale(memory, after: .zero) == nil }
  }

  /// The callers have their answer, and it holds for half a minute meanwhile.
  @Test func noCallerWaitsForTheTime() async throws {
    let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
    let release = DispatchSemaphore(value: 0)
    let lookups = lookups(memory, script(1_000)) { release.wait() }
    try await look(in: lookups)
    #expect(isStale(memory, after: .seconds(10)) == false && isStale(memory, after: .seconds(31)) == true)
    for _ in 0..<2 { release.signal() }
    try await eventually("the end to be moved") { isStale(memory, after: .seconds(900)) == false }
  }

  @Test func howTheNameWasResolvedIsKept() async throws {
    for (mode, flags, resolution): (EncryptedDNS, ResolvedCache.Flags, DomainResolution) in [
      (.never, [], .udp), (.sometimes, .confidential, .tls), (.always, .confidential, .tls), (.sometimes, [], .udp),
    ] {
      let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
      var script = script(flags: ScriptedResolved.flags.union(flags))
      script.mode = .success(mode)
      try await look(in: lookups(memory, script))
      try await eventually("\(mode) to be known") { memory.resolution(of: question) == resolution }
    }
  }

  /// A name of a file is no question to systemd-resolved.
  @Test func namesOfFilesAreNotAskedAbout() async throws {
    let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
    try await look(up: "listed.example", in: lookups(memory, script()))
    let listed = NameQuestion(host: "listed.example", family: .v4, onlyUsableFamilies: true)
    #expect(memory.resolution(of: listed) == .unknown && opened.all.isEmpty)
  }

  @Test func nameServersOfTheMachineNeedNoBus() async throws {
    let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
    let sources = NameSources(
      switches: nil, resolver: "nameserver 192.0.2.1", options: nil, hosts: "", ownName: "")
    let script = script()
    let lookups = NameLookups(on: Self.threads, memory: memory, sources: { sources }, resolved: questions { script }) {
      _ in
      .success([Self.address])
    }
    try await look(in: lookups)
    #expect(memory.resolution(of: question) == .udp && opened.all.isEmpty)
  }
}

/// Against systemd-resolved as programs see it.
@Suite(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
struct ResolvedPathTests {
  private static let address = NetworkAddress([192, 0, 2, 1])

  /// Whatever it answers, a name is found, and what is known of it holds.
  @Test(arguments: MockResolved.CacheAnswers.allCases) func answersHoldAsLongAsItSays(
    _ answers: MockResolved.CacheAnswers
  ) async throws {
    var cache = MockResolved.Cache()
    cache.answers = answers
    cache.mode = "opportunistic"
    cache.flags |= ResolvedCache.Flags.confidential.rawValue
    cache.records = [
      .init("a.test", type: 1, WireRecord.address("b.test", 1_000, [192, 0, 2, 1])),
      .init("a.test", type: 5, WireRecord.alias("a.test", 600, "b.test")),
    ]
    let resolver = try await MockResolved.start([], cache: cache)
    let sources = NameSources(
      switches: nil, resolver: "nameserver 127.0.0.53", options: nil, hosts: "", ownName: "")
    let memory = NameMemory(networks: FakeNetworks(), hosts: { nil })
    let reported = Recorder<Bool>()
    let questions = ResolvedQuestions(on: BlockingLanes(limit: 1, patience: .hours(1), most: 1)) {
      [address = resolver.address] in ResolvedCache(address: address)
    }
    let lookups = NameLookups(
      on: BlockingLanes(limit: 1), memory: memory, sources: { sources }, resolved: questions
    ) { _ in .success([Self.address]) }
    let question = NameQuestion(host: "a.test", family: .v4, onlyUsableFamilies: true)
    let found = Recorder<NameAnswer>()
    _ = lookups.ask(question) { found.record($0) }
    #expect(try await found.next() == .success([Self.address]))
    questions.report(on: [Self.address], to: question) { reported.record($0?.time != nil) }
    #expect(try await reported.next() == (answers == .answers))
    if answers == .answers {
      try await eventually("the end to be moved") {
        memory.answer(to: question, at: .now() + .seconds(400))?.isStale == false
      }
      #expect(memory.answer(to: question, at: .now() + .seconds(601))?.isStale == true)
      #expect(memory.resolution(of: question) == .tls)
    } else {
      #expect(memory.answer(to: question, at: .now())?.isStale == false)
      #expect(memory.answer(to: question, at: .now() + .seconds(31))?.isStale == true)
      #expect(memory.resolution(of: question) == .unknown)
    }
    await resolver.stop()
  }
}
