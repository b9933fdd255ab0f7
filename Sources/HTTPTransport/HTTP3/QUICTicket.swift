#if HTTP3
import CQUIC
import NIOCore

/// A ticket for the next handshake with a server, and the certificates that the server showed when it gave it. Used once at
/// most (RFC 8446 §C.4).
final class QUICTicket: Sendable {
  /// The state machine's, which nothing changes.
  nonisolated(unsafe) let handle: OpaquePointer
  /// In DER, the server's own first.
  let certificates: [[UInt8]]
  /// The address at which the server was reached.
  let address: SocketAddress

  /// - Parameter handle: belongs to the object from now on.
  init(_ handle: OpaquePointer, certificates: [[UInt8]], address: SocketAddress) {
    self.handle = handle
    self.certificates = certificates
    self.address = address
  }

  deinit { cquic_ticket_free(handle) }

  /// Whether requests may leave before the handshake is complete.
  var permitsEarlyData: Bool { cquic_ticket_permits_early_data(handle) != 0 }
}
#endif
