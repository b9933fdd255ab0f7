import CLinux

/// Ties an authentication to the TLS channel that it goes through (RFC 5056), so that it cannot be relayed through
/// another one.
package struct GSSChannelBindings: Sendable, Equatable {
  /// The application data of RFC 2744 §3.11: the binding's type, a colon, and its value.
  package let applicationData: [UInt8]

  /// `tls-server-end-point` (RFC 5929 §4).
  ///
  /// - Parameter hash: of the server's certificate, with the hash function of its signature; SHA-256 in the place of MD5
  ///   and SHA-1.
  package static func tlsServerEndPoint(hash: [UInt8]) -> GSSChannelBindings {
    GSSChannelBindings(applicationData: Array("tls-server-end-point:".utf8) + hash)
  }

  func withBindings<Result>(_ body: (GSSLibrary.Bindings) throws -> Result) rethrows -> Result {
    try applicationData.withUnsafeBytes { bytes in
      var bindings = clinux_gss_channel_bindings()
      bindings.application_data = clinux_gss_buffer(
        length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      return try body(&bindings)
    }
  }
}
