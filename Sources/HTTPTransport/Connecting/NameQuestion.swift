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

  /// The same question about the other family.
  var sibling: NameQuestion {
    NameQuestion(host: host, family: family.other, onlyUsableFamilies: onlyUsableFamilies)
  }
}
