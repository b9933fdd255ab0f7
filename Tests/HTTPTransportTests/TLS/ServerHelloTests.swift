import Testing

@testable import HTTPTransport

@Suite struct ServerHelloTests {
  /// A TLS record with a ServerHello: the session identifier has `idLength` bytes.
  private static func bytes(idLength: Int, suite: UInt16, type: UInt8 = 22, message: UInt8 = 2) -> [UInt8] {
    let body = 2 + 32 + 1 + idLength + 2 + 1
    return [type, 3, 3, 0, UInt8(body + 4), message, 0, 0, UInt8(body), 3, 3]
      + [UInt8](repeating: 7, count: 32) + [UInt8(idLength)] + [UInt8](repeating: 9, count: idLength)
      + [UInt8(suite >> 8), UInt8(suite & 0xff), 0]
  }

  @Test(arguments: [(0, 0x1301), (32, 0x1302), (17, 0xc02f)] as [(Int, UInt16)])
  func findsTheSuiteAsSoonAsItIsThere(_ idLength: Int, _ suite: UInt16) {
    let bytes = ServerHelloTests.bytes(idLength: idLength, suite: suite)
    let needed = 46 + idLength
    for count in 0...bytes.count {
      let expected: ServerHello.Reading = count < needed ? .needsMore : .found(ServerHello(cipherSuite: suite))
      #expect(ServerHello.read(bytes[..<count]) == expected, "\(count) bytes")
    }
  }

  @Test(
    arguments: [
      ServerHelloTests.bytes(idLength: 0, suite: 1, type: 21),
      ServerHelloTests.bytes(idLength: 0, suite: 1, message: 1),
      ServerHelloTests.bytes(idLength: 33, suite: 1), Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [22, 2],
    ])
  func nothingElseIsAServerHello(_ bytes: [UInt8]) {
    #expect(ServerHello.read(bytes) == .isNone)
  }
}
