/// Decides how the lookups of one name in both families of addresses end. No resolver, no clock.
///
/// Neither waits for the other (RFC 8305 §3), with one exception. A family in which the machine has no address but
/// loopback's is left out, which is how a machine without IPv6 is spared half of all questions. Where nothing was found
/// in either family, that may be why, as on a machine without any network: then both are asked about again without it.
struct FamilyLookups {
  enum Outcome {
    case found
    /// There is no such address.
    case absent
    /// There was no answer, or it is of no use.
    case failed
  }

  enum Action: Equatable {
    /// The family's lookup ends with its present result.
    case settle(AddressFamily)
    /// Ask once more, for every address.
    case askAgain(AddressFamily)
  }

  private enum State {
    case asked
    /// Absent; the other family says whether that is the last word.
    case undecided
    case askedAgain
    case settled
  }

  private var states: [AddressFamily: State] = [:]

  mutating func asked(_ family: AddressFamily) { states[family] = .asked }

  mutating func answered(_ family: AddressFamily, _ outcome: Outcome) -> [Action] {
    guard states[family] == .asked, outcome == .absent else { return settle(family) }
    switch states[family.other] {
    case .asked:
      states[family] = .undecided
      return []
    case .undecided:
      states = [family: .askedAgain, family.other: .askedAgain]
      return [.askAgain(family.other), .askAgain(family)]
    case nil:
      states[family] = .askedAgain
      return [.askAgain(family)]
    case .askedAgain, .settled: return settle(family)
    }
  }

  private mutating func settle(_ family: AddressFamily) -> [Action] {
    // The undecided family is settled first, so that connecting to this one's addresses does not wait for it.
    let families = states[family.other] == .undecided ? [family.other, family] : [family]
    for family in families { states[family] = .settled }
    return families.map { .settle($0) }
  }
}
