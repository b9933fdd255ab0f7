import HTTPSemantics
import SystemServices
import Testing

@testable import HTTPTransport

/// Records as systemd-resolved writes them.
enum WireRecord {
  static func address(_ owner: String, _ lifetime: UInt32, _ address: [UInt8]) -> [UInt8] {
    bytes(owner, type: address.count == 4 ? 1 : 28, lifetime, address)
  }

  static func alias(_ owner: String, _ lifetime: UInt32, _ target: String) -> [UInt8] {
    bytes(owner, type: 5, lifetime, name(target))
  }

  private static func bytes(_ owner: String, type: UInt8, _ lifetime: UInt32, _ data: [UInt8]) -> [UInt8] {
    var bytes = name(owner)
    bytes += [0, type, 0, 1]
    bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: lifetime >> (8 * $0)) }
    bytes += [0, UInt8(data.count)]
    return bytes + data
  }

  private static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }
}

/// systemd-resolved as a table of what is in its cache.
struct ScriptedResolved: ResolvedAsking {
  struct Key: Hashable {
    let name: String
    let type: UInt16
  }

  var answers: [Key: Result<ResolvedCache.Answer, ResolvedCache.Failure>] = [:]
  var mode: Result<EncryptedDNS, ResolvedCache.Failure> = .success(.never)
  var asked: @Sendable (_ name: String, _ type: UInt16) -> Void = { _, _ in }

  static let flags: ResolvedCache.Flags = [.dns, .fromCache]

  mutating func add(
    _ name: String, type: UInt16 = 1, _ records: [[UInt8]], flags: ResolvedCache.Flags = ScriptedResolved.flags
  ) { answers[Key(name: name, type: type)] = .success(.init(records: records, flags: flags)) }

  func answer(_ name: String, type: UInt16) throws(ResolvedCache.Failure) -> ResolvedCache.Answer {
    asked(name, type)
    return try (answers[Key(name: name, type: type)] ?? .failure(.absent)).get()
  }

  func encryption() throws(ResolvedCache.Failure) -> EncryptedDNS { try mode.get() }
}

@Suite struct AnswerTimeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var host = "a.example"
    var family = AddressFamily.v4
    var addresses: [[UInt8]] = [[192, 0, 2, 1]]
    let time: AnswerTime?
    let script: @Sendable (inout ScriptedResolved) -> Void
  }

  private static func time(_ seconds: Int64, isConfidential: Bool = false) -> AnswerTime {
    AnswerTime(seconds: seconds, isConfidential: isConfidential)
  }

  private static func first(_ lifetime: UInt32, of owner: String = "a.example") -> [UInt8] {
    WireRecord.address(owner, lifetime, [192, 0, 2, 1])
  }

  private static let confidential = ScriptedResolved.flags.union(.confidential)
  private static let long = String(repeating: "a", count: 64) + ".example"
  private static let v6: [UInt8] = [0x20, 1, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [1]

  static let times: [Case] = [
    Case(testDescription: "one record", time: time(300)) { $0.add("a.example", [first(300)]) },
    Case(testDescription: "the host's letters and last dot", host: "A.Example.", time: time(300)) {
      $0.add("a.example", [first(300, of: "A.EXAMPLE")])
    },
    Case(testDescription: "IPv6", family: .v6, addresses: [v6], time: time(9)) {
      $0.add("a.example", type: 28, [WireRecord.address("a.example", 9, v6)])
    },
    Case(testDescription: "one second", time: time(1)) { $0.add("a.example", [first(1)]) },
    Case(testDescription: "not to be kept", time: time(0)) { $0.add("a.example", [first(0)]) },
    Case(testDescription: "a day", time: time(86_400)) { $0.add("a.example", [first(86_400)]) },
    Case(testDescription: "more than a day", time: time(86_400)) { $0.add("a.example", [first(86_401)]) },
    Case(testDescription: "the first bit is set", time: time(86_400)) { $0.add("a.example", [first(.max)]) },
    Case(testDescription: "the shortest counts", addresses: [[192, 0, 2, 1], [192, 0, 2, 2]], time: time(20)) {
      $0.add("a.example", [first(30), WireRecord.address("a.example", 20, [192, 0, 2, 2])])
    },
    Case(testDescription: "an address that was not given does not count", time: time(30)) {
      $0.add("a.example", [first(30), WireRecord.address("a.example", 20, [192, 0, 2, 2])])
    },
    Case(testDescription: "encrypted", time: time(30, isConfidential: true)) {
      $0.add("a.example", [first(30)], flags: confidential)
    },
    Case(testDescription: "an alias lives shorter", time: time(10)) {
      $0.add("a.example", [first(300, of: "b.example")])
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 10, "B.example")])
    },
    Case(testDescription: "an alias lives longer", time: time(5)) {
      $0.add("a.example", [first(5, of: "c.example")])
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 100, "b.example")])
      $0.add("b.example", type: 5, [WireRecord.alias("b.example", 50, "c.example")])
    },
    Case(testDescription: "an alias that is not in the cache", time: time(30)) {
      $0.add("a.example", [first(300, of: "b.example")])
    },
    Case(testDescription: "an alias that is not in the cache, of a short-lived address", time: time(7)) {
      $0.add("a.example", [first(7, of: "b.example")])
    },
    Case(testDescription: "an alias to elsewhere", time: time(20)) {
      $0.add("a.example", [first(300, of: "b.example")])
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 20, "d.example")])
    },
    Case(testDescription: "an alias to itself", time: time(25)) {
      $0.add("a.example", [first(300, of: "b.example")])
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 25, "a.example")])
    },
    Case(testDescription: "a malformed alias", time: time(30)) {
      $0.add("a.example", [first(300, of: "b.example")])
      $0.add("a.example", type: 5, [[1, 2, 3]])
    },
    Case(testDescription: "an alias that was not encrypted", time: time(10)) {
      $0.add("a.example", [first(300, of: "b.example")], flags: confidential)
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 10, "b.example")])
    },
    Case(testDescription: "all was encrypted", time: time(10, isConfidential: true)) {
      $0.add("a.example", [first(300, of: "b.example")], flags: confidential)
      $0.add("a.example", type: 5, [WireRecord.alias("a.example", 10, "b.example")], flags: confidential)
    },
  ]

  static let noTimes: [Case] = [
    Case(testDescription: "nothing in the cache", time: nil) { _ in },
    Case(testDescription: "no records", time: nil) { $0.add("a.example", []) },
    Case(testDescription: "another address", addresses: [[192, 0, 2, 9]], time: nil) {
      $0.add("a.example", [first(30)])
    },
    Case(
      testDescription: "an address that no record has", addresses: [[192, 0, 2, 1], [192, 0, 2, 9]], time: nil
    ) { $0.add("a.example", [first(30)]) },
    Case(testDescription: "no address", addresses: [], time: nil) { $0.add("a.example", [first(30)]) },
    Case(testDescription: "a malformed record beside a good one", time: nil) {
      $0.add("a.example", [first(30), [0xff, 0xff]])
    },
    Case(testDescription: "records of another type", time: nil) {
      $0.add("a.example", [WireRecord.alias("a.example", 10, "b.example")])
    },
    Case(testDescription: "records of two owners", addresses: [[192, 0, 2, 1], [192, 0, 2, 2]], time: nil) {
      $0.add("a.example", [first(30), WireRecord.address("b.example", 20, [192, 0, 2, 2])])
    },
    Case(testDescription: "from multicast", time: nil) { $0.add("a.example", [first(30)], flags: .fromCache) },
    Case(testDescription: "made on this machine", time: nil) {
      $0.add("a.example", [first(30)], flags: [.dns, .synthetic])
    },
    Case(testDescription: "from a zone of this machine", time: nil) {
      $0.add("a.example", [first(30)], flags: [.dns, .fromZone])
    },
    Case(testDescription: "a name that is none", host: long, time: nil) { $0.add(long, [first(30)]) },
    Case(testDescription: "a name with a space", host: "a b.example", time: nil) {
      $0.add("a b.example", [first(30)])
    },
    Case(testDescription: "an empty name", host: "", time: nil) { $0.add("", [first(30)]) },
  ]

  @Test(arguments: times + noTimes) func theRecordsSayHowLongAnAnswerHolds(_ row: Case) throws {
    var resolved = ScriptedResolved()
    row.script(&resolved)
    let question = NameQuestion(host: row.host, family: row.family, onlyUsableFamilies: true)
    let time = try AnswerTime.find(question, row.addresses.map { NetworkAddress($0) }) {
      name, type throws(ResolvedCache.Failure) in try resolved.answer(name, type: type)
    }
    #expect(time == row.time)
  }

  /// A circle of aliases, or a chain without end.
  @Test func aliasesAreFollowedForAWhile() throws {
    var asked = 0
    let question = NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true)
    let time = try AnswerTime.find(question, [NetworkAddress([192, 0, 2, 1])]) {
      name, type throws(ResolvedCache.Failure) in
      asked += 1
      guard type == 5 else { return .init(records: [Self.first(300, of: "z.example")], flags: ScriptedResolved.flags) }
      return .init(records: [WireRecord.alias(name, 300, "a" + name)], flags: ScriptedResolved.flags)
    }
    #expect(time == Self.time(30) && asked == 9)
  }

  @Test(arguments: [ResolvedCache.Failure.refused, .unavailable]) func failuresArePassedOn(
    _ failure: ResolvedCache.Failure
  ) {
    var resolved = ScriptedResolved()
    resolved.add("a.example", [Self.first(300, of: "b.example")])
    resolved.answers[.init(name: "a.example", type: 5)] = .failure(failure)
    let question = NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true)
    #expect(throws: failure) {
      try AnswerTime.find(question, [NetworkAddress([192, 0, 2, 1])]) { name, type throws(ResolvedCache.Failure) in
        try resolved.answer(name, type: type)
      }
    }
  }
}
