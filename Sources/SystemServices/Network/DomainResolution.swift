/// How the addresses of a name were asked for.
package enum DomainResolution: String, Sendable, CaseIterable {
  /// Not known, or not from the DNS.
  case unknown
  /// DNS over UDP.
  case udp
  /// DNS over TCP.
  case tcp
  /// DNS over TLS (RFC 7858).
  case tls

  /// An answer with more addresses may be too long for a datagram of 512 bytes (RFC 1035 §4.2.1), with aliases before them.
  /// It is asked for once more over TCP then.
  static let mostAddressesByUDP = 8

  /// - Parameters:
  ///   - way: where the C library finds the name.
  ///   - encryption: Whether systemd-resolved asks over TLS; nil where it does not say.
  ///   - isConfidential: What systemd-resolved says of this answer, which is in its cache; nil where it says nothing.
  ///   - addresses: How many there are in the answer.
  package init(
    way: NameSources.Way, encryption: EncryptedDNS?, isConfidential: Bool? = nil, addresses: Int
  ) {
    self =
      switch (way, isConfidential, encryption) {
      case (.unknown, _, _): .unknown
      case (.servers(let resolution), _, _): resolution
      case (.resolved, true?, .never?), (.resolved, true?, nil): .unknown
      case (.resolved, true?, _), (.resolved, nil, .always?): .tls
      case (.resolved, false?, _), (.resolved, nil, .never?): .udp
      case (.resolved, nil, _): .unknown
      }
    if self == .udp, addresses > DomainResolution.mostAddressesByUDP { self = .unknown }
  }
}

/// Whether systemd-resolved asks name servers over TLS.
package enum EncryptedDNS: Sendable, Equatable {
  case never
  case always
  /// As servers can, or not on all links.
  case sometimes

  /// - Parameter modes: The property `DNSOverTLS` of the manager, and of each link that has name servers.
  init(modes: some Collection<String>) {
    self =
      if modes.isEmpty { .sometimes } else if modes.allSatisfy({ $0 == "no" }) {
        .never
      } else if modes.allSatisfy({
        $0 == "yes"
      }) { .always } else { .sometimes }
  }
}
