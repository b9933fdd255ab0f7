import SystemServices

/// The version of IP that an address is of.
package enum AddressFamily: Sendable, CaseIterable {
  case v4
  case v6

  package var other: AddressFamily { self == .v4 ? .v6 : .v4 }
}

/// One question to the system's resolver.
package struct NameQuestion: Hashable, Sendable {
  package let host: String
  package let family: AddressFamily
  /// Whether a family of which the machine has no address but loopback's is not asked about (AI_ADDRCONFIG).
  package let onlyUsableFamilies: Bool

  package init(host: String, family: AddressFamily, onlyUsableFamilies: Bool) {
    self.host = host
    self.family = family
    self.onlyUsableFamilies = onlyUsableFamilies
  }
}

package typealias NameAnswer = Result<[NetworkAddress], NameFailure>

/// Why there is no address.
package struct NameFailure: Error, Equatable {
  /// In the resolver's words.
  package let reason: String
  /// Whether that is the answer, rather than that there was none.
  package let isAbsence: Bool

  package init(reason: String, isAbsence: Bool) {
    self.reason = reason
    self.isAbsence = isAbsence
  }
}
