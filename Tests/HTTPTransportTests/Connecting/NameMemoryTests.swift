import Foundation
import NIOCore
import SystemFakes
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct NameMemoryTests {
  private let networks = FakeNetworks()
  private let start = BootInstant.now()
  private let key = ConnectionKey(scheme: .https, host: "a.example", port: 443)

  private func address(_ number: UInt8) -> NetworkAddress { NetworkAddress([198, 51, 100, number]) }

  private func changed(_ change: (inout ConnectionKey) -> Void) -> NameMemory.Server {
    var key = key
    change(&key)
    return NameMemory.Server(key)
  }

  // MARK: Answers

  private let question = NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true)

  @Test func anAnswerHoldsForHalfAMinuteAndIsKeptForADay() {
    let memory = NameMemory(networks: networks)
    #expect(memory.answer(to: question, at: start) == nil)
    memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start)
    for (age, isStale): (TimeAmount, Bool?) in [
      (.zero, false), (.milliseconds(29_999), false), (.seconds(30), true), (.seconds(86_399), true), (.hours(24), nil),
    ] {
      let kept = isStale.map { NameMemory.KeptAnswer(answer: .success([address(1)]), isStale: $0) }
      #expect(memory.answer(to: question, at: start + age) == kept, "\(age)")
    }
    for other in [
      NameQuestion(host: "b.example", family: .v4, onlyUsableFamilies: true),
      NameQuestion(host: "a.example", family: .v6, onlyUsableFamilies: true),
      NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: false),
    ] { #expect(memory.answer(to: other, at: start) == nil) }
  }

  /// What comes after an answer, and which is kept then.
  @Test(
    arguments: [
      (.success([NetworkAddress([198, 51, 100, 2])]), NetworkAddress([198, 51, 100, 2])), (.success([]), nil),
      (.failure(NameFailure(reason: "no such name", isAbsence: true)), nil),
      (.failure(NameFailure(reason: "no answer", isAbsence: false)), NetworkAddress([198, 51, 100, 1])),
    ] as [(NameAnswer, NetworkAddress?)])
  func aLaterAnswerCounts(_ answer: NameAnswer, _ kept: NetworkAddress?) {
    let memory = NameMemory(networks: networks)
    memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start)
    memory.note(answer, to: question, askedIn: memory.circumstances(), at: start)
    #expect(memory.answer(to: question, at: start)?.answer == kept.map { .success([$0]) })
  }

  /// That a name has no address in one family is kept with the addresses that it has in the other.
  @Test func anAbsenceHoldsAsLongAsTheOtherFamilysAddresses() {
    let memory = NameMemory(networks: networks)
    let absence = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))
    func note(_ answer: NameAnswer, _ question: NameQuestion, after age: TimeAmount) {
      memory.note(answer, to: question, askedIn: memory.circumstances(), at: start + age)
    }
    note(absence, question.sibling, after: .zero)
    #expect(memory.answer(to: question.sibling, at: start) == nil)
    note(.success([address(1)]), question, after: .zero)
    for (age, isStale): (TimeAmount, Bool?) in [
      (.zero, false), (.milliseconds(29_999), false), (.seconds(30), true), (.hours(24), nil),
    ] {
      let kept = isStale.map { NameMemory.KeptAnswer(answer: absence, isStale: $0) }
      #expect(memory.answer(to: question.sibling, at: start + age) == kept, "\(age)")
    }
    // It does not get older than an answer may by newer ones of its sibling.
    note(.success([address(1)]), question, after: .seconds(20))
    #expect(memory.answer(to: question.sibling, at: start + .seconds(31))?.isStale == true)
    note(absence, question.sibling, after: .seconds(40))
    #expect(memory.answer(to: question.sibling, at: start + .seconds(50))?.isStale == true)
    note(.success([address(1)]), question, after: .seconds(50))
    #expect(memory.answer(to: question.sibling, at: start + .seconds(50))?.isStale == false)
    note(absence, question, after: .seconds(51))
    for question in [question, question.sibling] {
      #expect(memory.answer(to: question, at: start + .seconds(51)) == nil)
    }
  }

  @Test func answersAreOfOneNetwork() {
    let memory = NameMemory(networks: networks)
    let circumstances = memory.circumstances()
    memory.note(.success([address(1)]), to: question, askedIn: circumstances, at: start)
    networks.become(.expensive)
    #expect(memory.answer(to: question, at: start) == nil)
    // The answer to a question that was asked before the change.
    memory.note(.success([address(1)]), to: question, askedIn: circumstances, at: start)
    #expect(memory.answer(to: question, at: start) == nil)
    memory.note(.success([address(2)]), to: question, askedIn: memory.circumstances(), at: start)
    #expect(memory.answer(to: question, at: start)?.answer == .success([address(2)]))
  }

  // MARK: The end of an answer

  private func isStale(_ memory: NameMemory, _ question: NameQuestion, after age: TimeAmount) -> Bool? {
    memory.answer(to: question, at: start + age)?.isStale
  }

  @Test(arguments: [TimeAmount.seconds(5), .seconds(300), .hours(23)]) func anEndIsMoved(_ end: TimeAmount) throws {
    let memory = NameMemory(networks: networks, hosts: { nil })
    let number = try #require(
      memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start))
    memory.revise(number, to: question, end: nil, by: .udp, at: start)
    #expect(isStale(memory, question, after: .milliseconds(29_999)) == false)
    #expect(isStale(memory, question, after: .seconds(30)) == true)
    memory.revise(number, to: question, end: start + end, by: .tls, at: start + .seconds(1))
    #expect(isStale(memory, question, after: end - .milliseconds(1)) == false)
    #expect(isStale(memory, question, after: end) == true && memory.resolution(of: question) == .tls)
    // For requests that take old answers.
    #expect(isStale(memory, question, after: .hours(24) - .milliseconds(1)) == true)
    #expect(isStale(memory, question, after: .hours(24)) == nil)
  }

  /// RFC 1035 §3.2.1: it is for the connections that wait for it.
  @Test func anAnswerThatHasEndedIsNotKept() throws {
    let memory = NameMemory(networks: networks, hosts: { nil })
    let number = try #require(
      memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start))
    memory.revise(number, to: question, end: start, by: .udp, at: start)
    #expect(isStale(memory, question, after: .zero) == nil && memory.resolution(of: question) == nil)
  }

  @Test func anotherAnswerIsNotRevised() throws {
    let memory = NameMemory(networks: networks, hosts: { nil })
    func note(_ number: UInt8) throws -> Int {
      try #require(
        memory.note(
          .success([address(number)]), to: question, by: .udp, askedIn: memory.circumstances(), at: start))
    }
    let first = try note(1)
    _ = try note(2)
    memory.revise(first, to: question, end: start, by: .tls, at: start)
    #expect(isStale(memory, question, after: .seconds(29)) == false && memory.resolution(of: question) == .udp)
    let third = try note(3)
    networks.become(.expensive)
    memory.revise(third, to: question, end: start + .hours(1), by: .tls, at: start)
    #expect(isStale(memory, question, after: .zero) == nil)
    _ = try note(4)
    memory.revise(third, to: question, end: start + .hours(1), by: .tls, at: start)
    #expect(isStale(memory, question, after: .seconds(31)) == true)
  }

  @Test func nothingIsSaidOfAnswersThatAreNotKept() {
    let memory = NameMemory(networks: networks, hosts: { nil })
    let circumstances = memory.circumstances()
    let failure = NameAnswer.failure(NameFailure(reason: "no answer", isAbsence: false))
    #expect(memory.note(failure, to: question, askedIn: circumstances, at: start) == nil)
    #expect(memory.note(.success([]), to: question, askedIn: circumstances, at: start) == nil)
    networks.become(.expensive)
    #expect(memory.note(.success([address(1)]), to: question, askedIn: circumstances, at: start) == nil)
  }

  /// It has no time of its own, and is not kept for long.
  @Test func anAbsenceFollowsTheOtherFamilysEnd() throws {
    let memory = NameMemory(networks: networks, hosts: { nil })
    let absence = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))
    let number = try #require(
      memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start))
    memory.note(absence, to: question.sibling, askedIn: memory.circumstances(), at: start)
    for (end, lifetime): (TimeAmount, TimeAmount) in [
      (.seconds(5), .seconds(5)), (.seconds(300), .seconds(300)), (.hours(12), .hours(1)),
    ] {
      memory.revise(number, to: question, end: start + end, by: .udp, at: start)
      #expect(isStale(memory, question.sibling, after: lifetime - .milliseconds(1)) == false, "\(end)")
      #expect(isStale(memory, question.sibling, after: lifetime) == true, "\(end)")
    }
    memory.revise(number, to: question, end: start, by: .udp, at: start)
    #expect(isStale(memory, question.sibling, after: .zero) == nil)
  }

  /// A name that is new in the table of names of the machine is found as soon as without a time of its records.
  @Test func aChangeOfTheTableOfNamesEndsAnAnswer() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hosts-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let memory = NameMemory(networks: networks, hosts: { FileStamp(path: "\(folder)/hosts") })
    let number = try #require(
      memory.note(.success([address(1)]), to: question, askedIn: memory.circumstances(), at: start))
    memory.revise(number, to: question, end: start + .hours(1), by: .udp, at: start)
    #expect(isStale(memory, question, after: .minutes(30)) == false)
    try "192.0.2.1 a.example".write(toFile: "\(folder)/hosts", atomically: true, encoding: .utf8)
    #expect(isStale(memory, question, after: .seconds(29)) == false)
    #expect(isStale(memory, question, after: .seconds(30)) == true)
  }

  /// The answer may be from before the change.
  @Test func aChangeOfTheTableOfNamesDuringALookupEndsItsAnswer() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hosts-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func write(_ text: String) throws {
      try text.write(toFile: "\(folder)/hosts", atomically: true, encoding: .utf8)
    }
    try write("")
    let memory = NameMemory(networks: networks, hosts: { FileStamp(path: "\(folder)/hosts") })
    let circumstances = memory.circumstances()
    try write("192.0.2.1 a.example")
    let number = try #require(
      memory.note(.success([address(1)]), to: question, askedIn: circumstances, at: start))
    memory.revise(number, to: question, end: start + .hours(1), by: .udp, at: start)
    #expect(isStale(memory, question, after: .seconds(29)) == false)
    #expect(isStale(memory, question, after: .seconds(30)) == true)
  }

  // MARK: Winners

  @Test func aWinnerIsRememberedForTenMinutes() {
    let memory = NameMemory(networks: networks)
    let server = NameMemory.Server(key)
    #expect(memory.winner(of: server, at: start) == nil)
    memory.noteWinner(address(1), of: server, at: start)
    // To win again makes it no longer.
    memory.noteWinner(address(1), of: server, at: start + .minutes(9))
    #expect(memory.winner(of: server, at: start + .seconds(599)) == address(1))
    #expect(memory.winner(of: server, at: start + .seconds(600)) == nil)
    memory.noteWinner(address(1), of: server, at: start + .minutes(11))
    memory.noteWinner(address(2), of: server, at: start + .minutes(12))
    #expect(memory.winner(of: server, at: start + .seconds(12 * 60 + 599)) == address(2))
  }

  @Test func aFailureForgetsTheWinner() {
    let memory = NameMemory(networks: networks)
    let server = NameMemory.Server(key)
    memory.noteWinner(address(1), of: server, at: start)
    memory.forgetWinner(of: server)
    #expect(memory.winner(of: server, at: start) == nil)
  }

  /// The address may be one that only a network leads to which another request must not use.
  @Test func aWinnerIsOneOfItsServerAndItsConditions() {
    let memory = NameMemory(networks: networks)
    memory.noteWinner(address(1), of: NameMemory.Server(key), at: start)
    let others = [
      changed { $0.host = "b.example" }, changed { $0.port = 444 }, changed { $0.forbiddenNetworks = .expensive },
      changed { $0.requiresDNSSEC = true },
    ]
    for server in others { #expect(memory.winner(of: server, at: start) == nil) }
    // The same addresses are connected to.
    #expect(memory.winner(of: changed { $0.allowsHTTP2 = false }, at: start) == address(1))
  }

  @Test func anotherNetworkHasOtherWinners() {
    let memory = NameMemory(networks: networks)
    #expect(!networks.isObserved)
    for _ in 0..<2 {
      memory.noteWinner(address(1), of: NameMemory.Server(key), at: start)
      #expect(networks.isObserved)
      networks.become(.expensive)
      #expect(memory.winner(of: NameMemory.Server(key), at: start) == nil)
      // There is nothing left to forget.
      #expect(!networks.isObserved)
    }
  }

  /// As where the kernel may not be listened to.
  @Test func aChangeThatIsNotReportedIsNoticedAtTheNextUse() {
    let memory = NameMemory(networks: networks)
    let server = NameMemory.Server(key)
    let circumstances = memory.circumstances()
    memory.note(.success([address(1)]), to: question, askedIn: circumstances, at: start)
    networks.becomeUnreported(.expensive)
    #expect(memory.answer(to: question, at: start) == nil)
    memory.noteWinner(address(1), of: server, at: start)
    networks.becomeUnreported([])
    #expect(memory.winner(of: server, at: start) == nil)
    let next = memory.circumstances()
    networks.becomeUnreported(.expensive)
    memory.note(.success([address(1)]), to: question, askedIn: next, at: start)
    #expect(memory.answer(to: question, at: start) == nil && memory.circumstances().network > next.network)
  }

  // MARK: Sources

  @Test func aSourceIsRememberedForASecond() {
    let memory = NameMemory(networks: networks)
    func source(_ found: NetworkAddress?, after age: TimeAmount) -> NetworkAddress? {
      memory.source(towards: address(1), at: start + age) { _ in found }
    }
    #expect(source(nil, after: .zero) == nil)
    // No network leads there, which is asked about again.
    #expect(source(address(2), after: .zero) == address(2))
    #expect(source(address(3), after: .milliseconds(999)) == address(2))
    #expect(source(address(3), after: .seconds(1)) == address(3))
    #expect(source(nil, after: .seconds(2)) == nil)
    #expect(memory.source(towards: address(4), at: start) { _ in address(5) } == address(5))
  }

  @Test func anotherNetworkHasOtherSources() {
    let memory = NameMemory(networks: networks)
    memory.noteWinner(address(1), of: NameMemory.Server(key), at: start)
    #expect(memory.source(towards: address(1), at: start) { _ in address(2) } == address(2))
    networks.become(.expensive)
    #expect(memory.source(towards: address(1), at: start) { _ in address(3) } == address(3))
  }

  @Test func theNetworkIsNotWatchedWithoutAMemory() {
    var memory: NameMemory? = NameMemory(networks: networks)
    memory?.noteWinner(address(1), of: NameMemory.Server(key), at: start)
    #expect(networks.isObserved)
    memory = nil
    #expect(!networks.isObserved)
  }

  @Test func momentsHaveAges() {
    let hour = start + .hours(1)
    #expect(start.age(at: hour) == .hours(1) && hour.age(at: start) == .hours(-1))
    let (first, last) = (BootInstant(nanoseconds: .min), BootInstant(nanoseconds: .max))
    #expect(last + .hours(1) == last && first + .hours(-1) == first)
    #expect(first.age(at: last) == .nanoseconds(.max) && last.age(at: first) == .nanoseconds(.min))
  }

  @Test func theOldestMakesRoom() {
    var table = BoundedTable<String, Int>(capacity: 2)
    #expect(table.isEmpty)
    table.note(1, for: "a", at: start)
    table.note(2, for: "b", at: start + .seconds(1))
    table.note(3, for: "a", at: start + .seconds(2))
    table.note(4, for: "c", at: start + .seconds(3))
    #expect(table.count == 2)
    table.revise(5, for: "c")
    table.revise(6, for: "d")
    #expect(table.entry(for: "c")?.value == 5 && table.entry(for: "c")?.noted == start + .seconds(3))
    #expect(table.entry(for: "d") == nil)
    table.revise(4, for: "c")
    #expect(table.entry(for: "a")?.value == 3 && table.entry(for: "b") == nil && table.entry(for: "c")?.value == 4)
    table.remove("a")
    #expect(table.count == 1)
  }
}
