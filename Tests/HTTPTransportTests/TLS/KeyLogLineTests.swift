import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct KeyLogLineTests {
  private static let label = "SERVER_HANDSHAKE_TRAFFIC_SECRET"
  private static let random = String(repeating: "0f", count: 32)

  @Test func theSecretOfTheServersHandshakeIsRead() {
    for end in ["", "\n"] {
      let line = ByteBuffer(string: "\(Self.label) \(Self.random) 00ff1aB9\(end)")
      #expect(KeyLogLine.serverHandshakeSecret(in: line) == [0x00, 0xff, 0x1a, 0xb9])
    }
  }

  @Test(arguments: [
    "", "\n", label, "\(label) ", "\(label) \(random)", "\(label) \(random) ", "\(label) \(random) \n",
    "\(label) \(random) 00f", "\(label) \(random) 00fg", "\(label) \(random) 00 ff",
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET \(random) 00ff", "SERVER_TRAFFIC_SECRET_0 \(random) 00ff",
  ])
  func otherLinesHaveNone(_ line: String) {
    #expect(KeyLogLine.serverHandshakeSecret(in: ByteBuffer(string: line)) == nil)
  }
}
