import NIOSSL

extension TLSVersion {
  /// The version's number in the handshake (RFC 8446 §4.1.2).
  var wireNumber: UInt16 {
    switch self {
    case .tlsv1: 0x0301
    case .tlsv11: 0x0302
    case .tlsv12: 0x0303
    case .tlsv13: 0x0304
    }
  }
}
