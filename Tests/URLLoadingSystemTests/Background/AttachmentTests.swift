import Foundation
import Testing
import TransferProtocol

@testable import URLLoadingSystem

@Suite struct AttachmentTests {
  @Test func identifiersMadeInVainCollideWithNone() {
    let (attachment, other) = (Attachment(patience: 0.01), Attachment(patience: 0.01))
    let early = [attachment.reserveIdentifier(), attachment.reserveIdentifier()]
    #expect(Set(early + [other.reserveIdentifier()]).count == 3)
    #expect(early.allSatisfy { $0 > 1 << 32 })
    attachment.succeed(nextIdentifier: 7)
    let late: [Int] = [attachment.reserveIdentifier(), attachment.reserveIdentifier()]
    #expect(late == [7, 8])
  }

  @Test func onlyOneFactoryWaitsInVain() {
    let attachment = Attachment(patience: 1)
    _ = attachment.reserveIdentifier()
    let began = ContinuousClock.now
    for _ in 0..<20 { _ = attachment.reserveIdentifier() }
    // Twenty waits would be twenty seconds.
    #expect(ContinuousClock.now - began < .seconds(15))
  }

  @Test(arguments: [TimeInterval.infinity, .nan, 1e300, .greatestFiniteMagnitude])
  func everyIntervalFitsIntoAMessage(_ interval: TimeInterval) throws {
    var options = SessionOptions()
    options.timeoutIntervalForResource = finite(interval)
    let encoded = try MessageFraming.encode(options)
    let read = try MessageFraming.decode(SessionOptions.self, from: encoded)
    #expect(read.timeoutIntervalForResource == 1e9)
  }
}
