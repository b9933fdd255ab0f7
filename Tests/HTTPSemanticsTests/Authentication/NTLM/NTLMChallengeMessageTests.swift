import HTTPSemantics
import Testing

@Suite struct NTLMChallengeMessageTests {
  @Test func attributesAreRead() throws {
    let published = try #require(NTLMChallengeMessage(NTLMMessages.published))
    #expect(published.target.attributes.map(\.id) == [2, 1])
    #expect(published.target.attributes.last?.value == HexBytes.read("530065007200760065007200"))
    #expect(NTLMChallengeMessage(NTLMMessages.timed)?.target.attributes.map(\.id) == [2, 1, 7])
  }

  /// The bytes are from outside: each of these must give nil, or a message, but no crash.
  @Test func noBeginningOfAMessageIsReadBeyondItsEnd() {
    for message in [NTLMMessages.published, NTLMMessages.timed] {
      for length in 0..<message.count {
        #expect((NTLMChallengeMessage(Array(message[..<length])) != nil) == (32..<48).contains(length), "\(length)")
      }
    }
  }

  @Test func everyChangedByteIsHandled() {
    for message in [NTLMMessages.published, NTLMMessages.timed] {
      for (index, value) in message.indices.flatMap({ index in
        [UInt8](arrayLiteral: 0x00, 0x01, 0x7F, 0xFF).map { (index, $0) }
      }) {
        var changed = message
        changed[index] = value
        guard let challenge = NTLMChallengeMessage(changed) else { continue }
        _ = NTLMAuthenticateMessage.bytes(
          answering: challenge, identity: NTLMMessages.identity, time: .max,
          clientChallenge: Array(repeating: 1, count: 8), targetName: "HTTP/a", certificateHash: [1])
      }
    }
  }

  /// Places in the message of MS-NLMP §4.2.4.3.
  @Test(
    arguments: [
      // Signature, message type.
      (0, [0]), (8, [1]), (8, [3]),
      // Length and offset of the attributes.
      (40, [0xFF, 0xFF]), (44, [0xFF, 0xFF, 0xFF, 0xFF]), (44, [0x45]), (44, [0xFF, 0xFF, 0xFF, 0x7F]), (40, [3, 0]),
      (40, [0x20, 0]),
      // The length of an attribute; no end.
      (70, [0xFF, 0xFF]), (70, [0x1D, 0]), (100, [5]),
      // A time and flags of the wrong length.
      (68, [7]), (68, [6]),
    ] as [(Int, [UInt8])])
  func malformedMessagesAreRefused(offset: Int, bytes: [UInt8]) {
    var message = NTLMMessages.published
    message.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    #expect(NTLMChallengeMessage(message) == nil)
  }

  @Test func emptyAttributesMayPointAnywhere() {
    var message = NTLMMessages.published
    message.replaceSubrange(40..<48, with: [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(NTLMChallengeMessage(message)?.target.attributes.isEmpty == true)
  }
}
