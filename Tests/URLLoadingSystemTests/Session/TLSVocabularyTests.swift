import Testing
import URLLoadingSystem

@Suite struct TLSVocabularyTests {
  @Test(
    arguments: [
      (tls_protocol_version_t.TLSv10, 0x0301), (.TLSv11, 0x0302), (.TLSv12, 0x0303), (.TLSv13, 0x0304),
      (.DTLSv10, 0xfeff),
      (.DTLSv12, 0xfefd),
    ] as [(tls_protocol_version_t, UInt16)])
  func versionsHaveTheirNumberOnTheWire(version: tls_protocol_version_t, number: UInt16) {
    #expect(version.rawValue == number)
    #expect(SSLProtocol(rawValue: 8) == .tlsProtocol12)
  }

  @Test(
    arguments: [
      (.sslProtocolUnknown, .TLSv12, .TLSv13), (.sslProtocol3, .TLSv10, .TLSv10), (.sslProtocolAll, .TLSv10, .TLSv13),
      (.tlsProtocol1, .TLSv10, .TLSv10), (.tlsProtocol11, .TLSv11, .TLSv11), (.tlsProtocol12, .TLSv12, .TLSv12),
      (.tlsProtocol13, .TLSv13, .TLSv13),
    ] as [(SSLProtocol, tls_protocol_version_t, tls_protocol_version_t)])
  func theOlderNamesMeanALimit(name: SSLProtocol, oldest: tls_protocol_version_t, newest: tls_protocol_version_t) {
    let configuration = URLSessionConfiguration.default
    configuration.tlsMinimumSupportedProtocol = name
    configuration.tlsMaximumSupportedProtocol = name
    #expect(configuration.tlsMinimumSupportedProtocolVersion == oldest)
    #expect(configuration.tlsMaximumSupportedProtocolVersion == newest)
  }
}
