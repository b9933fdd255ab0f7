import HTTPSemantics
import SystemServices

/// How long an answer of the system's resolver holds, as the records say that systemd-resolved has in its cache. Asks through
/// what it is given, and knows no clock.
struct AnswerTime: Equatable, Sendable {
  /// In seconds; 0 for an answer that holds for those alone that wait for it (RFC 1035 §3.2.1).
  let seconds: Int64
  /// Whether it was asked for over encrypted ways alone.
  let isConfidential: Bool

  /// One day. RFC 8767 §4 allows up to seven; no answer is kept for longer than a day otherwise (`allowsPersistentDNS`).
  static let longest: Int64 = 86_400
  /// Of an answer whose aliases are not all known with their times.
  static let longestOfUnknownAlias: Int64 = 30
  private static let mostAliases = 8

  typealias Ask = (_ name: String, _ type: UInt16) throws(ResolvedCache.Failure) -> ResolvedCache.Answer

  /// nil where the records are not those that the answer came from: it may be from a file, or from another source of the C
  /// library.
  static func find(
    _ question: NameQuestion, _ addresses: [NetworkAddress], _ ask: Ask
  ) throws(ResolvedCache.Failure) -> AnswerTime? {
    let name = canonical(question.host)
    let type = question.family == .v4 ? DNSRecord.addressOfIPv4 : DNSRecord.addressOfIPv6
    guard isPlain(name), !addresses.isEmpty, let (records, flags) = try records(of: name, type, ask) else { return nil }
    let wanted = Set(addresses.map(\.bytes))
    let matching = records.filter { wanted.contains($0.data) }
    guard Set(matching.map(\.data)) == wanted, let owner = matching.first?.owner,
      matching.allSatisfy({ $0.owner == owner }), let shortest = matching.map(\.lifetime).min()
    else { return nil }
    let aliases = try aliases(from: name, to: owner, ask)
    return AnswerTime(
      seconds: min(Int64(shortest), aliases.seconds, longest),
      isConfidential: flags.contains(.confidential) && aliases.isConfidential)
  }

  /// The shortest time of the aliases that lead from `name` to `owner`.
  private static func aliases(
    from name: String, to owner: String, _ ask: Ask
  ) throws(ResolvedCache.Failure) -> AnswerTime {
    var (name, seconds, isConfidential) = (name, longest, true)
    for _ in 0..<mostAliases where name != owner {
      guard let (records, flags) = try records(of: name, DNSRecord.alias, ask),
        let alias = records.first(where: { $0.owner == name }), let target = alias.target, isPlain(target)
      else { break }
      name = target
      seconds = min(seconds, Int64(alias.lifetime))
      isConfidential = isConfidential && flags.contains(.confidential)
    }
    if name != owner { seconds = min(seconds, longestOfUnknownAlias) }
    return AnswerTime(seconds: seconds, isConfidential: isConfidential)
  }

  /// nil where there are none, where they are not from the DNS, and where one is malformed. A time with its first bit set is long
  /// (RFC 8767 §4).
  private static func records(
    of name: String, _ type: UInt16, _ ask: Ask
  ) throws(ResolvedCache.Failure) -> (records: [DNSRecord], flags: ResolvedCache.Flags)? {
    let answer: ResolvedCache.Answer
    do { answer = try ask(name, type) } catch {
      guard error == .absent else { throw error }
      return nil
    }
    guard answer.flags.contains(.dns), answer.flags.isDisjoint(with: [.synthetic, .fromZone, .fromTrustAnchor]) else {
      return nil
    }
    let records = answer.records.map { DNSRecord($0) }
    guard !records.contains(nil) else { return nil }
    return (records.compactMap { $0 }.filter { $0.type == type }, answer.flags)
  }

  private static func canonical(_ host: String) -> String {
    (host.last == "." ? host.dropLast() : host[...]).lowercased()
  }

  /// Whether systemd-resolved takes it for a name, so that a refusal is one of the question's kind.
  private static func isPlain(_ name: String) -> Bool {
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return name.utf8.count <= 253 && labels.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(isPlain) }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
