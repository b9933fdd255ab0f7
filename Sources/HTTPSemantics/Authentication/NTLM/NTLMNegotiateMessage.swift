/// The first message of NTLM, from the client (MS-NLMP §2.2.1.1). It names neither user nor machine.
package enum NTLMNegotiateMessage {
  package static let bytes: [UInt8] = {
    var message = signature
    message.append(littleEndian: UInt32(1))
    message.append(littleEndian: NTLMFlags.offered.rawValue)
    // Domain and workstation, both empty.
    return message + Array(repeating: 0, count: 16)
  }()

  /// MS-NLMP §2.2.1: every message begins with it.
  static let signature = Array("NTLMSSP\0".utf8)
}
