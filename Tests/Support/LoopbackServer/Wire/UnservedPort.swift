import Glibc

/// A port of 127.0.0.1 that is taken and not served: connections to it are refused, and no other test gets it.
package final class UnservedPort: Sendable {
  package struct NotToBeHad: Error { let code: Int32 }

  /// One for all who need no particular one.
  package static let shared = Result { try UnservedPort() }

  package let number: Int
  private let descriptor: Int32

  /// - Parameter number: Which port; 0 leaves the choice to the kernel. A ``LoopbackServer`` that asks for this very one
  ///   gets it all the same.
  package init(_ number: Int = 0) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var isShared: Int32 = 1
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(number).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
    let result = withUnsafeMutablePointer(to: &address) { [descriptor] in
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
      }
    }
    self.number = Int(UInt16(bigEndian: address.sin_port))
    if result != 0 { throw NotToBeHad(code: errno) }
  }

  deinit { close(descriptor) }
}
