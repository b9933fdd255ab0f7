/// Which cipher suites of TLS 1.2 carry HTTP/2 (RFC 9113 §9.2.2).
package enum HTTP2Security {
  /// Those with an ephemeral key exchange and authenticated encryption, by their numbers in IANA's registry: what
  /// Appendix A leaves over of the suites that there are.
  private static let suites: Set<UInt16> = [
    0x009e, 0x009f, 0xc02b, 0xc02c, 0xc02f, 0xc030, 0xc09e, 0xc09f, 0xc0ac, 0xc0ad, 0xcca8, 0xcca9, 0xccaa,
  ]

  /// All suites of TLS 1.3 are good enough. A version or suite that is not known is not.
  package static func isAdequate(tlsVersion: UInt16?, suite: UInt16?) -> Bool {
    // RFC 9113 §9.2: TLS 1.2 at least.
    switch tlsVersion {
    case 0x0304?: true
    case 0x0303?: suite.map { suites.contains($0) } ?? false
    default: false
    }
  }
}
