import Testing

@testable import HTTPTransport

@Suite struct HTTP2PeerSettingsTests {
  @Test func theSmallestTableSizeOfAFrameIsRemembered() throws {
    var settings = HTTP2PeerSettings()
    let size = HTTP2Setting.headerTableSize
    try settings.apply([HTTP2Setting(size, 100), HTTP2Setting(size, 50), HTTP2Setting(size, 8_000)])
    #expect(settings.smallestHeaderTableBytes == 50 && settings.headerTableBytes == 8_000)
    try settings.apply([HTTP2Setting(size, 9_000)])
    #expect(settings.smallestHeaderTableBytes == 8_000 && settings.headerTableBytes == 9_000)
  }

  /// RFC 8441 §3: the offer is made with 1, and not taken back.
  @Test func theOfferOfExtendedConnectIsNotTakenBack() throws {
    var settings = HTTP2PeerSettings()
    #expect(!settings.isKnown)
    try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, 0)])
    #expect(settings.isKnown && !settings.enablesConnectProtocol)
    try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, 1)])
    try settings.apply([])
    #expect(settings.enablesConnectProtocol)
    for value: UInt32 in [0, 2] {
      let error = #expect(throws: HTTP2ConnectionError.self) {
        try settings.apply([HTTP2Setting(HTTP2Setting.enableConnectProtocol, value)])
      }
      #expect(error?.code == .protocolError)
    }
  }

  @Test func settingsReplaceTheDefaults() throws {
    var settings = HTTP2PeerSettings()
    #expect(settings.maximumConcurrentStreams == nil)
    try settings.apply([])
    #expect(settings.maximumConcurrentStreams == Int(Int32.max))
    try settings.apply([
      HTTP2Setting(3, 7), HTTP2Setting(4, 1 << 20), HTTP2Setting(5, 1 << 15), HTTP2Setting(1, 0), HTTP2Setting(8, 1),
      HTTP2Setting(0xfff0, 9),
    ])
    #expect(settings.maximumConcurrentStreams == 7 && settings.initialWindow == 1 << 20)
    #expect(settings.frameBytes == 1 << 15 && settings.headerTableBytes == 0 && settings.enablesConnectProtocol)
  }

  @Test(arguments: [
    HTTP2Setting(2, 1), HTTP2Setting(4, 0x8000_0000), HTTP2Setting(5, 16_383), HTTP2Setting(5, 0x100_0000),
    HTTP2Setting(8, 2),
  ])
  func impossibleSettingsAreErrors(_ setting: HTTP2Setting) {
    var settings = HTTP2PeerSettings()
    #expect(throws: HTTP2ConnectionError.self) { try settings.apply([setting]) }
  }
}
