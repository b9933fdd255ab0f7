/// The order in which the addresses of a host are tried, across both families (RFC 6724 §6). Asks the system nothing.
///
/// Rules 3 (deprecated sources), 4 (home addresses) and 7 (native transport) are left out: sockets tell nothing of them.
/// Rule 9 (the longest matching prefix) is for IPv6 only: for IPv4 it would send all clients of one network to the same
/// server where a name server lists several in turn.
package enum DestinationOrder {
  /// One address of a host.
  package struct Candidate: Hashable, Sendable {
    package let address: NetworkAddress
    /// The machine's own address that packets to it come from; nil when no network leads there.
    package let source: NetworkAddress?

    package init(_ address: NetworkAddress, from source: NetworkAddress?) {
      self.address = address
      self.source = source
    }
  }

  /// The best first. Equal candidates stay in the order in which they were given.
  package static func sorted(_ candidates: [Candidate]) -> [Candidate] {
    candidates.enumerated().map { (rank: Rank($0.element), $0.offset, $0.element) }
      .sorted { $0.rank == $1.rank ? $0.1 < $1.1 : $0.rank < $1.rank }
      .map { $0.2 }
  }

  /// As `sorted`, with the families in turn, one address each, beginning with that of the best (RFC 8305 §4). Addresses to
  /// which no network leads stay last.
  package static func inTurns(_ candidates: [Candidate]) -> [Candidate] {
    let sorted = sorted(candidates)
    let usable = sorted.filter { $0.source != nil }
    let length = usable.first?.address.bytes.count
    let first = usable.filter { $0.address.bytes.count == length }
    let second = usable.filter { $0.address.bytes.count != length }
    let turns = (0..<max(first.count, second.count)).flatMap { index in
      [first, second].compactMap { $0.indices.contains(index) ? $0[index] : nil }
    }
    return turns + sorted.filter { $0.source == nil }
  }

  /// A candidate by the rules in turn; a lower one is better. Prefixes are only compared between addresses of IPv6: those of
  /// different families differ in their precedence.
  private struct Rank: Comparable {
    /// Rule 1.
    let isUnusable: Bool
    /// Rule 2.
    let isOfOtherScope: Bool
    /// Rule 5.
    let isOfOtherLabel: Bool
    /// Rule 6.
    let precedence: Int
    /// Rule 8.
    let scope: Int
    /// Rule 9.
    let prefix: Int

    init(_ candidate: Candidate) {
      let address = AddressTraits(candidate.address)
      let source = candidate.source.map { AddressTraits($0) }
      isUnusable = source == nil
      isOfOtherScope = source?.scope != address.scope
      isOfOtherLabel = source?.policy.label != address.policy.label
      precedence = address.policy.precedence
      scope = address.scope
      prefix = source.map { address.sharedPrefix(with: $0) } ?? 0
    }

    private var numbers: [Int] {
      [isUnusable ? 1 : 0, isOfOtherScope ? 1 : 0, isOfOtherLabel ? 1 : 0, -precedence, scope, -prefix]
    }

    static func < (one: Rank, other: Rank) -> Bool { one.numbers.lexicographicallyPrecedes(other.numbers) }
  }
}
