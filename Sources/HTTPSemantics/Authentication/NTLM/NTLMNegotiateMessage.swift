/// The first message of NTLM, from the client (MS-NLMP §2.2.1.1). It names neither user nor machine.
package enum NTLMNegotiateMessage {
  package static let bytes: [UInt8] = {
    var message = signature
    message.append(littleEndian: UInt32(1))
    message.append(littleEndian: NTLMFlags.offered.rawValue)
    // Domain and workstation, both empty, and the version, which is not told (MS-NLMP §2.2.2.10): gss-ntlmssp refuses a
    // message that ends before it.
    return message + Array(repeating: 0, count: 24)
  }()

  /// MS-NLMP §2.2.1: every message begins with it.
  static let signature = Array("NTLMSSP\0".utf8)
}
