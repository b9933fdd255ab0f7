import HTTPSemantics

/// A list of public suffixes that has one of two labels: every last label is one anyway.
struct FewSuffixes: PublicSuffixes {
  func isPublicSuffix(_ domain: String) -> Bool { !domain.contains(".") || domain == "co.uk" }

  func registrableDomain(of host: String) -> String? {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    let count = host.hasSuffix("co.uk") ? 3 : 2
    return labels.count < count ? nil : labels.suffix(count).joined(separator: ".")
  }
}
