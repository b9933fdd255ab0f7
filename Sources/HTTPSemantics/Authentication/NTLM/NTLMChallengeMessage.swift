/// The second message of NTLM, from the server (MS-NLMP §2.2.1.2).
package struct NTLMChallengeMessage: Sendable, Equatable {
  /// As it came: the message integrity code covers every byte.
  let bytes: [UInt8]
  let flags: NTLMFlags
  /// Eight bytes.
  let serverChallenge: [UInt8]
  package let target: NTLMTargetInformation

  /// nil when the message is malformed: every length and offset is checked.
  package init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: NTLMNegotiateMessage.signature), bytes.littleEndian32(at: 8) == 2,
      let flags = bytes.littleEndian32(at: 20), let challenge = bytes.bytes(at: 24, count: 8)
    else { return nil }
    self.bytes = bytes
    self.flags = NTLMFlags(rawValue: flags)
    serverChallenge = Array(challenge)
    // Older servers end the message before this field.
    guard self.flags.contains(.targetInformation), bytes.count >= 48 else {
      target = NTLMTargetInformation()
      return
    }
    guard let length = bytes.littleEndian16(at: 40), let offset = bytes.littleEndian32(at: 44) else { return nil }
    guard length > 0 else {
      target = NTLMTargetInformation()
      return
    }
    guard let attributes = bytes.bytes(at: Int(offset), count: Int(length)),
      let target = NTLMTargetInformation(Array(attributes)),
      target[NTLMTargetInformation.timestamp].map({ $0.count == 8 }) ?? true,
      target[NTLMTargetInformation.flags].map({ $0.count == 4 }) ?? true
    else { return nil }
    self.target = target
  }
}
