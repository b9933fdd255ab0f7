import Testing

@testable import HTTPTransport

@Suite struct HTTP2SecurityTests {
  /// RFC 9113 §9.2.2, Appendix A.
  @Test(
    arguments: [
      (0x0304, 0x1301, true), (0x0303, 0xc02f, true), (0x0303, 0xcca9, true), (0x0303, 0xc013, false),
      (0x0303, 0x009c, false), (0x0303, 0x0035, false), (0x0302, 0xc02f, false),
    ] as [(UInt16, UInt16, Bool)])
  func suitesThatCarryHTTP2(_ version: UInt16, _ suite: UInt16, _ isAdequate: Bool) {
    #expect(HTTP2Security.isAdequate(tlsVersion: version, suite: suite) == isAdequate)
    #expect(!HTTP2Security.isAdequate(tlsVersion: nil, suite: suite))
    #expect(HTTP2Security.isAdequate(tlsVersion: version, suite: nil) == (version == 0x0304))
  }
}
