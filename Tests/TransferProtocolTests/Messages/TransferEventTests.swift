import Foundation
import Testing

@testable import TransferProtocol

@Suite struct TransferEventTests {
  /// Else the connection would end, and with the next one the same event would come again.
  @Test func anEventOfANewerServiceIsKeptByName() throws {
    let text = """
      {"push":"event","body":{"session":"s","sequence":7,"taskIdentifier":3,\
      "event":{"finishedVerifying":{"signer":"x","levels":[1,2]}}}}
      """
    var decoder = MessageDecoder<ServiceMessage>()
    decoder.append(try MessageFraming.frame(ServiceMessage.reply(to: 1, .done)))
    #expect(try decoder.next() == .reply(to: 1, .done))
    let payload = Data(text.utf8)
    decoder.append(withUnsafeBytes(of: UInt32(payload.count).bigEndian) { Data($0) } + payload)
    let event = SequencedEvent(
      session: "s", sequence: 7, taskIdentifier: 3, event: .other("finishedVerifying"))
    #expect(try decoder.next() == .push(.event(event)))
    #expect(event.shortened == nil)
    // The connection goes on.
    decoder.append(try MessageFraming.frame(ServiceMessage.push(.event(event))))
    #expect(try decoder.next() == .push(.event(event)))
  }

  @Test func anEventWithoutANameIsRefused() {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(TransferEvent.self, from: Data("{}".utf8)) }
  }
}
