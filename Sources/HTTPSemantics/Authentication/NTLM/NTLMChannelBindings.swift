import Crypto

/// Binds an NTLM authentication to the TLS connection that carries it (MS-NLMP §2.2.2.1, MsvAvChannelBindings).
package enum NTLMChannelBindings {
  /// The MD5 hash of a `gss_channel_bindings_struct` (RFC 2744 §3.11) without addresses, whose application data is the
  /// binding `tls-server-end-point` (RFC 5929 §4).
  ///
  /// - Parameter certificateHash: the hash of the server's certificate; nil where there is no TLS.
  /// - Returns: 16 bytes; zeros mean that there is no binding.
  package static func hash(certificateHash: [UInt8]?) -> [UInt8] {
    guard let certificateHash else { return Array(repeating: 0, count: 16) }
    let applicationData = Array("tls-server-end-point:".utf8) + certificateHash
    // Address type and length, of the initiator and of the acceptor.
    var structure = [UInt8](repeating: 0, count: 16)
    structure.append(littleEndian: UInt32(truncatingIfNeeded: applicationData.count))
    return Array(Insecure.MD5.hash(data: structure + applicationData))
  }
}
