import HTTPSemantics
import Testing

@Suite struct IPAddressTextTests {
  @Test(
    arguments: [
      ("127.0.0.1", [127, 0, 0, 1]), ("255.255.255.255", [255, 255, 255, 255]), ("1.2.3", nil), ("1.2.3.4.5", nil),
      ("256.1.1.1", nil), ("01.2.3.4", nil), ("1.2.3.+4", nil), ("a.example", nil), ("", nil), ("1..2.3", nil),
      ("::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
      ("2001:DB8::8:800:200c:417a", [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 8, 8, 0, 0x20, 0xc, 0x41, 0x7a]),
      ("::ffff:127.0.0.1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1]),
      ("::", Array(repeating: 0, count: 16)), ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
      (":::", nil), ("1::2::3", nil), ("1:2:3:4:5:6:7", nil), ("1:2:3:4:5:6:7:8:9", nil), ("12345::", nil),
      ("fe80::1%eth0", nil), ("1:2:3:4:5:6:7::8", nil),
    ] as [(String, [UInt8]?)])
  func addressesAreParsed(text: String, bytes: [UInt8]?) { #expect(IPAddressText(text)?.bytes == bytes) }

  @Test(
    arguments: [
      ("127.0.0.1", true), ("127.255.0.9", true), ("128.0.0.1", false), ("::1", true), ("::2", false),
      ("::ffff:127.0.0.1", true), ("::ffff:10.0.0.1", false),
    ])
  func loopbackIsRecognised(text: String, isLoopback: Bool) { #expect(IPAddressText(text)?.isLoopback == isLoopback) }
}
