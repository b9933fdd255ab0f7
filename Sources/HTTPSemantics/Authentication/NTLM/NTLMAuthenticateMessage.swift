/// The third message of NTLM, from the client (MS-NLMP §2.2.1.3), with NTLMv2 responses only.
package enum NTLMAuthenticateMessage {
  /// - Parameters:
  ///   - challenge: the server's answer to `NTLMNegotiateMessage.bytes`.
  ///   - time: 100 ns units since the start of 1601, UTC; used where the server does not send its own time.
  ///   - clientChallenge: eight random bytes.
  ///   - targetName: the service, `HTTP/host`; nil leaves it out.
  ///   - certificateHash: the hash of the server's certificate by RFC 5929 §4.1; nil where there is no TLS.
  ///   - workstation: the client's name; empty tells none.
  /// - Returns: nil when the server does not take names in UTF-16 though one is not ASCII, when a part is longer than
  ///   its length can say, or the client challenge does not have eight bytes.
  package static func bytes(
    answering challenge: NTLMChallengeMessage, identity: NTLMIdentity, time: UInt64, clientChallenge: [UInt8],
    targetName: String? = nil, certificateHash: [UInt8]? = nil, workstation: String = ""
  ) -> [UInt8]? {
    guard clientChallenge.count == 8 else { return nil }
    let serverTime = challenge.target[NTLMTargetInformation.timestamp]
    guard let target = target(for: challenge, targetName: targetName, certificateHash: certificateHash).bytes else {
      return nil
    }
    var clientTime: [UInt8] = []
    clientTime.append(littleEndian: time)
    let response = NTLMResponse(
      identity: identity, serverChallenge: challenge.serverChallenge, clientChallenge: clientChallenge,
      time: serverTime ?? clientTime, target: target)

    let flags = challenge.flags.intersection(NTLMFlags.offered.union(.targetInformation))
    let names = [identity.domain, identity.user, workstation].map { encoded($0, flags) }
    guard let domain = names[0], let user = names[1], let machine = names[2] else { return nil }
    // MS-NLMP §3.1.5.1.2: with a server's time, no LMv2 response but zeros, and an integrity code.
    let hasCode = serverTime != nil
    let lmResponse = hasCode ? [UInt8](repeating: 0, count: 24) : response.lmResponse
    guard
      let message = assembled(
        lmResponse: lmResponse, ntResponse: response.ntResponse, domain: domain, user: user, machine: machine,
        flags: flags, hasCode: hasCode)
    else { return nil }
    guard hasCode else { return message }
    let code = NTLMIdentity.code(
      key: response.sessionKey, NTLMNegotiateMessage.bytes + challenge.bytes + message)
    return message[..<codeOffset] + code + message[(codeOffset + code.count)...]
  }

  /// After the six fields, the flags and the version.
  private static let codeOffset = 72

  /// MS-NLMP §3.1.5.1.2: the server's attributes, and what the client adds to them.
  private static func target(
    for challenge: NTLMChallengeMessage, targetName: String?, certificateHash: [UInt8]?
  ) -> NTLMTargetInformation {
    var target = challenge.target
    if target[NTLMTargetInformation.timestamp] != nil {
      // Bit 1: the message has an integrity code.
      var flags = target[NTLMTargetInformation.flags] ?? [0, 0, 0, 0]
      flags[0] |= 2
      target[NTLMTargetInformation.flags] = flags
    }
    // Both are the client's to say; a server that sends them is not believed.
    target[NTLMTargetInformation.channelBindings] = nil
    target[NTLMTargetInformation.targetName] = nil
    // A server without attributes does not look at these either.
    guard !target.attributes.isEmpty || certificateHash != nil else { return target }
    target[NTLMTargetInformation.channelBindings] = NTLMChannelBindings.hash(certificateHash: certificateHash)
    target[NTLMTargetInformation.targetName] = targetName.map { [UInt8](utf16LittleEndian: $0) }
    return target
  }

  /// nil when the name can't be written.
  private static func encoded(_ name: String, _ flags: NTLMFlags) -> [UInt8]? {
    if flags.contains(.unicode) { return [UInt8](utf16LittleEndian: name) }
    return name.utf8.allSatisfy { $0 < 0x80 } ? Array(name.utf8) : nil
  }

  /// The message; its integrity code is zeros.
  private static func assembled(
    lmResponse: [UInt8], ntResponse: [UInt8], domain: [UInt8], user: [UInt8], machine: [UInt8], flags: NTLMFlags,
    hasCode: Bool
  ) -> [UInt8]? {
    let start = codeOffset + (hasCode ? 16 : 0)
    let payload = domain + user + machine + lmResponse + ntResponse
    var offsets: [Int] = []
    var end = start
    for part in [domain, user, machine, lmResponse, ntResponse] {
      offsets.append(end)
      end += part.count
    }
    var message = NTLMNegotiateMessage.signature
    message.append(littleEndian: UInt32(3))
    // The session key is the last field, and empty: keys are not exchanged.
    let fields = [
      (lmResponse, offsets[3]), (ntResponse, offsets[4]), (domain, offsets[0]), (user, offsets[1]),
      (machine, offsets[2]), ([], end),
    ]
    for (part, offset) in fields {
      guard let length = UInt16(exactly: part.count), let offset = UInt32(exactly: offset) else { return nil }
      message.append(littleEndian: length)
      message.append(littleEndian: length)
      message.append(littleEndian: offset)
    }
    message.append(littleEndian: flags.rawValue)
    // The version, which is not negotiated, and the integrity code.
    message += Array(repeating: 0, count: start - message.count)
    return message + payload
  }
}
