import Testing

@testable import HTTPTransport

@Suite struct CertificateRequestReaderTests {
  /// A name of three bytes, and one of one byte.
  private static let names: [UInt8] = [0, 3, 0x30, 1, 0, 0, 1, 0x31]
  /// RFC 5246 §7.4.4.
  private static let body: [UInt8] = [1, 64, 0, 2, 4, 3, 0, UInt8(names.count)] + names

  private static func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type, 0, 0, UInt8(body.count)] + body }
  private static func record(_ bytes: [UInt8]) -> [UInt8] { [22, 3, 3, 0, UInt8(bytes.count)] + bytes }

  @Test func findsTheAuthoritiesOfTLS12() {
    let request = Self.message(13, Self.body)
    let expected: [[UInt8]] = [[0x30, 1, 0], [0x31]]
    let hello = Self.message(2, Array(repeating: 0, count: 40))
    #expect(CertificateRequestReader.authorities(in: Self.record(hello + request), secret: nil) == expected)
    // A message may be spread over records.
    let split = Self.record(hello) + Self.record(Array(request.prefix(7))) + Self.record(Array(request.dropFirst(7)))
    #expect(CertificateRequestReader.authorities(in: split, secret: nil) == expected)
  }

  @Test func whatEndsTooEarlyNamesNobody() {
    let whole = Self.record(Self.message(13, Self.body))
    for count in 0..<whole.count {
      #expect(CertificateRequestReader.authorities(in: Array(whole.prefix(count)), secret: nil).isEmpty)
    }
  }

  @Test func nonsenseIsHarmless() {
    var state: UInt64 = 42
    for _ in 0..<2_000 {
      let bytes = (0..<64).map { _ -> UInt8 in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 33)
      }
      let flight = [22, 3, 3, 0, 50, 2, 0, 0, 46, 3, 3] + [UInt8](repeating: 1, count: 32) + [0, 0x13, 1] + bytes
      for secret in [nil, [UInt8](repeating: 7, count: 32)] {
        _ = CertificateRequestReader.authorities(in: bytes, secret: secret)
        _ = CertificateRequestReader.authorities(in: flight, secret: secret)
      }
      _ = PKCS12Contents(bytes)
      _ = PKCS12Contents([0x30, 60] + bytes)
    }
  }
}
