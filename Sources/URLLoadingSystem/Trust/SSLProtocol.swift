/// The older enumeration of SSL and TLS versions. New code uses `tls_protocol_version_t`.
public enum SSLProtocol: Int32, Sendable {
  /// No version is named: as a lower limit TLS 1.2, as an upper one TLS 1.3.
  case sslProtocolUnknown = 0
  /// SSL 2, which is not spoken: means TLS 1.0.
  case sslProtocol2 = 1
  /// SSL 3, which is not spoken: means TLS 1.0.
  case sslProtocol3 = 2
  /// SSL 3 alone, which is not spoken: means TLS 1.0.
  case sslProtocol3Only = 3
  /// TLS 1.0.
  case tlsProtocol1 = 4
  /// TLS 1.0 alone.
  case tlsProtocol1Only = 5
  /// Every version: as a lower limit TLS 1.0, as an upper one TLS 1.3.
  case sslProtocolAll = 6
  /// TLS 1.1.
  case tlsProtocol11 = 7
  /// TLS 1.2.
  case tlsProtocol12 = 8
  /// DTLS 1.0. No load uses it.
  case dtlsProtocol1 = 9
  /// TLS 1.3.
  case tlsProtocol13 = 10
  /// DTLS 1.2. No load uses it.
  case dtlsProtocol12 = 11

  init(_ version: tls_protocol_version_t) {
    switch version {
    case .TLSv10: self = .tlsProtocol1
    case .TLSv11: self = .tlsProtocol11
    case .TLSv12: self = .tlsProtocol12
    case .TLSv13: self = .tlsProtocol13
    case .DTLSv10: self = .dtlsProtocol1
    case .DTLSv12: self = .dtlsProtocol12
    }
  }

  /// The version that this value means as a lower limit. SSL 2 and 3 are not spoken: they mean TLS 1.0.
  var oldestVersion: tls_protocol_version_t {
    switch self {
    case .sslProtocol2, .sslProtocol3, .sslProtocol3Only, .sslProtocolAll, .tlsProtocol1, .tlsProtocol1Only: .TLSv10
    case .tlsProtocol11: .TLSv11
    case .tlsProtocol12, .sslProtocolUnknown: .TLSv12
    case .tlsProtocol13: .TLSv13
    case .dtlsProtocol1: .DTLSv10
    case .dtlsProtocol12: .DTLSv12
    }
  }

  /// The version that this value means as an upper limit.
  var newestVersion: tls_protocol_version_t {
    switch self {
    case .sslProtocolUnknown, .sslProtocolAll: .TLSv13
    default: oldestVersion
    }
  }
}
