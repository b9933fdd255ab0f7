import Testing
import TransferProtocol

@Suite struct ProtocolVersionsTests {
  static let negotiations: [(service: ProtocolVersions, app: ProtocolVersions, agreement: ProtocolVersions.Agreement)] =
    [
      (.init(minimum: 1, maximum: 1), .init(minimum: 1, maximum: 1), .speak(1)),
      (.init(minimum: 1, maximum: 3), .init(minimum: 2, maximum: 9), .speak(3)),
      (.init(minimum: 1, maximum: 9), .init(minimum: 2, maximum: 4), .speak(4)),
      (.init(minimum: 3, maximum: 4), .init(minimum: 1, maximum: 2), .mustUpdate(.app)),
      (.init(minimum: 1, maximum: 2), .init(minimum: 3, maximum: 4), .mustUpdate(.service)),
      (.init(minimum: 1, maximum: 2), .init(minimum: 2, maximum: 1), .mustUpdate(.app)),
    ]

  @Test(arguments: negotiations)
  func theNewestCommonVersionIsSpoken(
    service: ProtocolVersions, app: ProtocolVersions, agreement: ProtocolVersions.Agreement
  ) {
    #expect(service.agreement(withApp: app) == agreement)
  }

  /// An app of this version relies on fields that a service of version 1 ignores.
  @Test func theLibraryIsServedByThisServiceAndNotByAnOlderOne() {
    #expect(ProtocolVersions.ofService.agreement(withApp: .ofApp) == .speak(4))
    #expect(ProtocolVersions(minimum: 1, maximum: 2).agreement(withApp: .ofApp) == .speak(2))
    #expect(ProtocolVersions(minimum: 1, maximum: 1).agreement(withApp: .ofApp) == .mustUpdate(.service))
    #expect(ProtocolVersions.ofService.agreement(withApp: ProtocolVersions(minimum: 1, maximum: 1)) == .speak(1))
  }
}
