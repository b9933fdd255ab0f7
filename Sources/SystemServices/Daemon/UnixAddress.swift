import Foundation

/// The address of a Unix-domain socket (unix(7)).
package struct UnixAddress {
  private var address = sockaddr_un()
  private let length: socklen_t

  /// - Parameter name: an absolute path, or an abstract name with `@` in place of its first byte, which is zero.
  /// - Returns: nil when it is too long.
  package init?(_ name: String) {
    var bytes = Array(name.utf8)
    // An abstract name has no end mark; a path has one.
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
    guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    length = socklen_t((MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + bytes.count)
  }

  /// Calls `body` with the address as the functions of sockets take it.
  package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }
}
