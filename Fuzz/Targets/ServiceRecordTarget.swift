import HTTPSemantics

extension FuzzTarget {
  /// HTTPS records, as a name server sends them: one alone, and two of one name, cut where the first byte says.
  static let serviceRecords = FuzzTarget("service-records") { bytes in
    try check([bytes])
    let (choice, rest) = bytes.choice
    try check([Array(rest.prefix(choice)), Array(rest.dropFirst(choice))])
  }

  private static func check(_ parts: [[UInt8]]) throws {
    let records = parts.compactMap { ServiceRecord($0) }
    for record in records {
      let binding = record.binding
      try require(binding.protocols?.allSatisfy { !$0.isEmpty } ?? true, "an empty protocol: \(binding)")
      try require(binding.ipv4Hints.allSatisfy { $0.count == 4 }, "a hint that is no address: \(binding)")
      try require(binding.ipv6Hints.allSatisfy { $0.count == 16 }, "a hint that is no address: \(binding)")
      try require(zip(binding.mandatory, binding.mandatory.dropFirst()).allSatisfy(<), "out of order: \(binding)")
      // Each byte takes four characters at most.
      for name in [record.owner, binding.target] {
        try require(name.utf8.count <= 255 * 4, "a name that is too long: \(name)")
        try require(name.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "no printable name: \(name)")
      }
    }
    for record in parts.compactMap({ DNSRecord($0) }) {
      for name in [record.owner, record.target ?? ""] {
        try require(name.utf8.count <= 255 * 4, "a name that is too long: \(name)")
      }
    }
    for port in [443, 8443] {
      guard let host = records.first?.owner, let offer = HTTP3Offer(records, host: host, port: port) else { continue }
      try require((1...65_535).contains(offer.port), "no port: \(offer)")
      try require(offer.lifetime > 0, "an offer that does not hold: \(offer)")
    }
  }
}
