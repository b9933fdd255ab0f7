/// An HTTPS record of the DNS (RFC 9460): its owner, its time to live, and its data.
package struct ServiceRecord: Hashable, Sendable {
  /// In lower case and without the last dot.
  package let owner: String
  /// In seconds.
  package let lifetime: UInt32
  package let binding: ServiceBinding

  package static let type: UInt16 = 65

  /// From a whole record as RFC 1035 §3.2.1 has it. nil for one of another type or class, and for what is malformed.
  package init?(_ bytes: [UInt8]) {
    var reader = DNSReader(bytes[...])
    guard let owner = reader.name(), reader.number() == ServiceRecord.type, reader.number() == 1,
      let lifetime = reader.longNumber(), let length = reader.number(), let data = reader.bytes(Int(length)),
      reader.isAtEnd, let binding = ServiceBinding(data)
    else { return nil }
    self.owner = owner
    // RFC 2181 §8: with its first bit set it is 0.
    self.lifetime = lifetime > Int32.max ? 0 : lifetime
    self.binding = binding
  }

  /// The name whose records tell of an origin (RFC 9460 §9.1).
  package static func name(host: String, port: Int) -> String { port == 443 ? host : "_\(port)._https.\(host)" }
}

/// The port at which a server is reached over HTTP/3, as its HTTPS records say.
package struct HTTP3Offer: Hashable, Sendable {
  package let port: Int
  /// For how many seconds that holds.
  package let lifetime: Int64

  package init(port: Int, lifetime: Int64) {
    self.port = port
    self.lifetime = lifetime
  }

  /// From all records of an origin. nil where they offer no HTTP/3 at the host itself: other targets are not followed, nor are
  /// aliases.
  package init?(_ records: [ServiceRecord], host: String, port: Int) {
    // §2.4.1: beside an alias other records are ignored.
    guard !records.contains(where: \.binding.isAlias) else { return nil }
    let usable = records.filter { record in
      let binding = record.binding
      // §2.5.2: an empty target is the owner, which is no host where the name has a port in front.
      let target = binding.target.isEmpty ? record.owner : binding.target
      return binding.isUnderstood && (target == host.lowercased() || port == 443 && target == record.owner)
        && binding.protocols?.contains(Array("h3".utf8)) == true && binding.port != 0
    }
    guard let best = usable.min(by: { $0.binding.priority < $1.binding.priority }),
      let lifetime = records.map(\.lifetime).min(), lifetime > 0
    else { return nil }
    let offered = best.binding.port.map { Int($0) } ?? port
    guard offered == port || HTTP3Offer.mayBeHTTP3(offered) else { return nil }
    self.init(port: offered, lifetime: Int64(lifetime))
  }

  /// Nothing proves a record: it must not send packets to services of other kinds that listen to UDP (RFC 9000 §21.5).
  private static func mayBeHTTP3(_ port: Int) -> Bool { port == 443 || port >= 1_024 && !otherServices.contains(port) }

  /// SSDP, NFS, STUN, WS-Discovery, SIP, mDNS, LLMNR and memcached.
  private static let otherServices: Set<Int> = [1_900, 2_049, 3_478, 3_702, 5_060, 5_353, 5_355, 11_211]
}
