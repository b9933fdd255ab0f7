import Glibc
import NIOCore
import SystemServices

/// The networks that a connection must not use, and the source of what networks are.
struct NetworkAccess: Sendable {
  let forbidden: NetworkTraits
  let networks: any NetworkDescribing

  /// Only networks that must not be used lead to any of the addresses: because of these traits.
  struct Excluded: Error { let traits: NetworkTraits }

  /// The addresses that may be connected to. May block. With nothing to choose from, all of them: connecting finds out
  /// what is wrong.
  func permitted(_ addresses: [NetworkAddress]) throws(Excluded) -> [NetworkAddress] {
    var permitted: [NetworkAddress] = []
    var excluded: NetworkTraits = []
    for address in addresses {
      guard let traits = networks.traits(towards: address, from: nil) else { continue }
      if traits.isDisjoint(with: forbidden) { permitted.append(address) } else { excluded.formUnion(traits) }
    }
    if !permitted.isEmpty { return permitted }
    guard excluded.isEmpty else { throw Excluded(traits: excluded.intersection(forbidden)) }
    return addresses
  }
}

extension SocketAddress {
  /// - Parameter address: of 4 or 16 bytes.
  init(_ address: NetworkAddress, port: Int, host: String) {
    if address.bytes.count == 4 {
      var raw = sockaddr_in()
      raw.sin_family = sa_family_t(AF_INET)
      raw.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
      withUnsafeMutableBytes(of: &raw.sin_addr) { $0.copyBytes(from: address.bytes) }
      self.init(raw, host: host)
    } else {
      var raw = sockaddr_in6()
      raw.sin6_family = sa_family_t(AF_INET6)
      raw.sin6_port = UInt16(truncatingIfNeeded: port).bigEndian
      raw.sin6_scope_id = address.interface
      withUnsafeMutableBytes(of: &raw.sin6_addr) { $0.copyBytes(from: address.bytes.prefix(16)) }
      self.init(raw, host: host)
    }
  }
}

extension NetworkAddress {
  /// nil for what is no IP address.
  init?(_ address: SocketAddress) {
    switch address {
    case .v4(let address): self.init(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
    case .v6(let address):
      self.init(
        withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }, interface: address.address.sin6_scope_id)
    case .unixDomainSocket: return nil
    }
  }
}
