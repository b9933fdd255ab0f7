import HTTPSemantics
import Testing

/// Compared with messages that another program computed from MS-NLMP.
@Suite struct NTLMAuthenticateMessageTests {
  private static let clientChallenge = [UInt8](repeating: 0xAA, count: 8)

  private static func message(
    answering challenge: [UInt8], identity: NTLMIdentity = NTLMMessages.identity, targetName: String? = nil,
    certificateHash: [UInt8]? = nil, workstation: String = "COMPUTER"
  ) throws -> [UInt8]? {
    NTLMAuthenticateMessage.bytes(
      answering: try #require(NTLMChallengeMessage(challenge)), identity: identity, time: 0x01D0_0000_0000_0000,
      clientChallenge: clientChallenge, targetName: targetName, certificateHash: certificateHash,
      workstation: workstation)
  }

  /// With LMv2, the client's time, no integrity code, and a binding that says that there is no TLS.
  @Test func challengeWithoutATimeIsAnswered() throws {
    let expected = """
      4e544c4d5353500003000000180018006c00000068006800840000000c000c00480000000800080054000000100010005c00 \
      000000000000ec00000001828800000000000000000044006f006d00610069006e00550073006500720043004f004d005000 \
      550054004500520086c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaabb4fe73e91f1cccb281f1f378ad515350101 \
      000000000000000000000000d001aaaaaaaaaaaaaaaa0000000002000c0044006f006d00610069006e0001000c0053006500 \
      72007600650072000a001000000000000000000000000000000000000000000000000000
      """
    #expect(try Self.message(answering: NTLMMessages.published) == HexBytes.read(expected))
  }

  /// With the server's time, zeros for LMv2, MsvAvFlags, the integrity code, the binding and the service's name.
  @Test func challengeWithATimeIsAnswered() throws {
    let expected = """
      4e544c4d5353500003000000180018007c000000a600a600940000000c000c00580000000800080064000000100010006c00 \
      0000000000003a01000005828800000000000000000039cfb2d26145d1ead3d9471fe1f70c4f44006f006d00610069006e00 \
      550073006500720043004f004d0050005500540045005200000000000000000000000000000000000000000000000000d966 \
      e7f83f7a94ad44a1cd558e97d9cb01010000000000000011223344556601aaaaaaaaaaaaaaaa0000000002000c0044006f00 \
      6d00610069006e0001000c0053006500720076006500720007000800001122334455660106000400020000000a0010006586 \
      e99d81c2fc984e47172fd4dd03100900260048005400540050002f007300650072007600650072002e006500780061006d00 \
      70006c0065000000000000000000
      """
    let message = try Self.message(
      answering: NTLMMessages.timed, targetName: "HTTP/server.example", certificateHash: NTLMMessages.certificateHash)
    #expect(message == HexBytes.read(expected))
  }

  /// The fields of MS-NLMP §2.2.1.3: length and offset of each part lie inside the message, one after the other.
  @Test(arguments: [NTLMMessages.published, NTLMMessages.timed]) func partsAreInsideTheMessage(challenge: [UInt8])
    throws
  {
    let message = try #require(try Self.message(answering: challenge, workstation: ""))
    func number(_ offset: Int, _ count: Int) -> Int {
      message[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let parts = stride(from: 12, to: 60, by: 8).map { (length: number($0, 2), offset: number($0 + 4, 4)) }
    #expect(parts.allSatisfy { $0.offset + $0.length <= message.count })
    #expect(parts.map(\.length).reduce(challenge == NTLMMessages.timed ? 88 : 72, +) == message.count)
    #expect(parts.last?.length == 0 && parts[4].length == 0)
  }

  /// A server that has no attributes, or ends its message before them.
  @Test(arguments: [32, 40]) func oldServersAreAnswered(length: Int) throws {
    var challenge = Array(NTLMMessages.published[..<length])
    challenge[22] &= 0x7F
    let message = try #require(try Self.message(answering: challenge))
    // The response has 16 bytes of proof, 28 in front of the attributes, their end, and four more.
    #expect(message[20] == 52 && message[21] == 0)
  }

  @Test func serverThatTakesNoUnicodeGetsASCIIOrNothing() throws {
    var challenge = NTLMMessages.published
    challenge[20] &= 0xFE
    let message = try #require(try Self.message(answering: challenge))
    #expect(Array(message[72..<90]) == Array("DomainUserCOMPUTER".utf8))
    let identity = NTLMIdentity(name: "\u{FC}", password: "")
    #expect(try Self.message(answering: challenge, identity: identity) == nil)
  }

  @Test func attributesOfTheClientAreNotTakenFromTheServer() throws {
    var challenge = NTLMMessages.published
    // The domain's attribute becomes a binding, the computer's a target name.
    challenge[68] = 10
    challenge[84] = 9
    let message = try #require(try Self.message(answering: challenge, targetName: "T"))
    #expect(!message.hexText.contains("0a000c00") && !message.hexText.contains("09000c00"))
  }

  @Test func partsThatDoNotFitAreRefused() throws {
    let long = String(repeating: "a", count: 32_768)
    #expect(try Self.message(answering: NTLMMessages.published, workstation: long) == nil)
    #expect(try Self.message(answering: NTLMMessages.published, targetName: long) == nil)
    #expect(
      try Self.message(answering: NTLMMessages.published, targetName: String(repeating: "a", count: 32_750)) == nil)
    let challenge = try #require(NTLMChallengeMessage(NTLMMessages.published))
    #expect(
      NTLMAuthenticateMessage.bytes(
        answering: challenge, identity: NTLMMessages.identity, time: 0, clientChallenge: [1, 2, 3]) == nil)
  }

  @Test func firstMessageNamesNothing() {
    #expect(
      NTLMNegotiateMessage.bytes.hexText == "4e544c4d535350000100000005820800" + String(repeating: "0", count: 48))
  }
}
