import Foundation

/// Finds out from which of the machine's addresses packets to another would come.
package enum SourceAddress {
  /// nil when no network leads there. Sends nothing and waits for nothing: connecting a socket for datagrams only chooses a
  /// route, which takes a few system calls.
  ///
  /// - Parameter destination: of 4 or 16 bytes.
  package static func towards(_ destination: NetworkAddress) -> NetworkAddress? {
    switch destination.bytes.count {
    case 4:
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = anyPort
      withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: destination.bytes) }
      guard let source = connect(address) else { return nil }
      return NetworkAddress(withUnsafeBytes(of: source.sin_addr) { Array($0) })
    case 16:
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = anyPort
      address.sin6_scope_id = destination.interface
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: destination.bytes) }
      guard let source = connect(address) else { return nil }
      return NetworkAddress(
        withUnsafeBytes(of: source.sin6_addr) { Array($0) }, interface: source.sin6_scope_id)
    default: return nil
    }
  }

  /// The discard service: nothing is ever sent.
  private static let anyPort = UInt16(9).bigEndian

  /// The socket's own address, once it is connected.
  private static func connect<Address>(_ destination: Address) -> Address? {
    var address = destination
    return withUnsafeMutableBytes(of: &address) { bytes -> Bool in
      guard let base = bytes.baseAddress else { return false }
      let raw = base.assumingMemoryBound(to: sockaddr.self)
      var length = socklen_t(bytes.count)
      let descriptor = socket(
        Int32(raw.pointee.sa_family), Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      return Glibc.connect(descriptor, raw, length) == 0 && getsockname(descriptor, raw, &length) == 0
    } ? address : nil
  }
}
