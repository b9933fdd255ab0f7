#if HTTP3
import CQUIC

/// What a server gave for the next handshake with it, and the certificates that it showed when it did. Used once at most
/// (RFC 8446 §C.4).
final class QUICTicket: Sendable {
  /// The state machine's, which nothing changes.
  nonisolated(unsafe) let handle: OpaquePointer
  /// In DER, the server's own first.
  let certificates: [[UInt8]]

  /// - Parameter handle: belongs to the object from now on.
  init(_ handle: OpaquePointer, certificates: [[UInt8]]) {
    self.handle = handle
    self.certificates = certificates
  }

  deinit { cquic_ticket_free(handle) }

  /// Whether requests may leave before the handshake is complete.
  var permitsEarlyData: Bool { cquic_ticket_permits_early_data(handle) != 0 }
}
#endif
