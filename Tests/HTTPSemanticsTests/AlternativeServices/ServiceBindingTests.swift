import Testing

@testable import HTTPSemantics

/// HTTPS records, the vectors of RFC 9460, appendix D, among them.
@Suite struct ServiceBindingTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let data: [UInt8]
    var priority: UInt16 = 1
    var target = ""
    var protocols: [String]?
    var hasNoDefaultProtocol = false
    var port: UInt16?
    var hints: [[UInt8]] = []
    var mandatory: [UInt16] = []
    var isUnderstood = true
  }

  /// `foo.example.com` and `foo.example.org`.
  private static let com = "03666f6f076578616d706c6503636f6d00"
  private static let org = "03666f6f076578616d706c65036f726700"

  private static func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  static let cases: [Case] = [
    Case(testDescription: "D.1: an alias", data: hex("0000" + com), priority: 0, target: "foo.example.com"),
    Case(
      testDescription: "parameters of an alias are ignored", data: hex("0000" + com + "ffff"), priority: 0,
      target: "foo.example.com"),
    Case(testDescription: "D.2: the owner is the target", data: hex("0001 00")),
    Case(
      testDescription: "D.2: a port", data: hex("0010" + com + "0003 0002 0035"), priority: 16,
      target: "foo.example.com", port: 53),
    Case(
      testDescription: "D.2: an unknown key", data: hex("0001" + com + "029b 0005 68656c6c6f"),
      target: "foo.example.com"),
    Case(
      testDescription: "D.2: two hints of IPv6",
      data: hex(
        "0001" + com + "0006 0020 20010db8000000000000000000000001 20010db8000000000000000000530001"),
      target: "foo.example.com",
      hints: [
        hex("20010db8000000000000000000000001"), hex("20010db8000000000000000000530001"),
      ]),
    Case(
      testDescription: "D.2: protocols, a hint of IPv4, and mandatory keys",
      data: hex(
        "0010" + org + "0000 0004 0001 0004 0001 0009 02 6832 05 68332d3139 0004 0004 c0000201"),
      priority: 16, target: "foo.example.org", protocols: ["h2", "h3-19"], hints: [[192, 0, 2, 1]],
      mandatory: [1, 4]),
    Case(
      testDescription: "protocols without the default", data: hex("0001 00 0001 0003 02 6833 0002 0000"),
      protocols: ["h3"], hasNoDefaultProtocol: true),
    Case(
      testDescription: "an unknown key that is mandatory", data: hex("0001 00 0000 0002 029b 029b 0000"),
      mandatory: [667], isUnderstood: false),
    Case(
      testDescription: "a target in capitals, with a byte that no host has", data: hex("0001 03 412e42 01 43 00"),
      target: "a\\046b.c"),
  ]

  @Test(arguments: cases) func isRead(_ test: Case) throws {
    let binding = try #require(ServiceBinding(test.data[...]))
    #expect(binding.priority == test.priority && binding.isAlias == (test.priority == 0))
    #expect(binding.target == test.target)
    #expect(binding.protocols == test.protocols?.map { Array($0.utf8) })
    #expect(binding.hasNoDefaultProtocol == test.hasNoDefaultProtocol)
    #expect(binding.port == test.port)
    #expect(binding.ipv4Hints + binding.ipv6Hints == test.hints)
    #expect(binding.mandatory == test.mandatory && binding.isUnderstood == test.isUnderstood)
    // Wherever it is cut there is nothing, or it ends between two parameters.
    for count in 0..<test.data.count {
      guard let part = ServiceBinding(test.data.prefix(count)) else { continue }
      #expect(part.priority == binding.priority && part.target == binding.target)
    }
  }

  @Test(arguments: [
    ("nothing", ""), ("no target", "0001"), ("a target without an end", "0001 03666f6f"),
    ("a label that is cut", "0001 0366"), ("a compressed target", "0001 c00c"),
    ("a label of 64 bytes", "0001 40" + String(repeating: "61", count: 64) + "00"),
    ("a name of 256 bytes", "0001" + String(repeating: "0161", count: 128) + "00"),
    ("D.3: a key twice", "0001" + com + "007b 0003 616263 007b 0003 646566"),
    ("keys out of order", "0001 00 0003 0002 0035 0001 0003 02 6833"),
    ("a key without a length", "0001 00 0003"), ("a value that is cut", "0001 00 0003 0002 00"),
    ("a port of one byte", "0001 00 0003 0001 35"), ("a port of three bytes", "0001 00 0003 0003 003500"),
    ("D.3: no protocol", "0001 00 0001 0000"), ("an empty protocol", "0001 00 0001 0001 00"),
    ("a protocol that is cut", "0001 00 0001 0002 02 68"),
    ("D.3: no default with a value", "0001 00 0001 0003 02 6833 0002 0001 00"),
    ("no default, and no protocol", "0001 00 0002 0000"),
    ("no hint of IPv4", "0001 00 0004 0000"), ("a hint of IPv4 that is cut", "0001 00 0004 0003 c00002"),
    ("a hint of IPv6 that is cut", "0001 00 0006 0004 20010db8"),
    ("D.3: mandatory without its key", "0001 00 0000 0002 007b"),
    ("D.3: mandatory names itself", "0001 00 0000 0002 0000"),
    ("D.3: a mandatory key twice", "0001 00 0000 0004 007b 007b 007b 0000"),
    ("mandatory keys out of order", "0001 00 0000 0004 007c 007b 007b 0000 007c 0000"),
    ("no mandatory key", "0001 00 0000 0000"), ("half a mandatory key", "0001 00 0000 0001 00"),
  ])
  func malformedDataIsRefused(_ description: String, _ data: String) {
    #expect(ServiceBinding(Self.hex(data)[...]) == nil)
  }

  // MARK: Records

  /// `a.example` 300 s.
  private static func record(_ data: String, owner: String = "01610765 78616d706c6500", lifetime: String = "0000012c")
    -> [UInt8]
  {
    let bytes = hex(data)
    return hex(owner + "0041 0001" + lifetime) + [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
  }

  @Test func aRecordIsRead() throws {
    let record = try #require(ServiceRecord(Self.record("0001 00 0001 0003 02 6833")))
    #expect(record.owner == "a.example" && record.lifetime == 300 && record.binding.protocols == [[0x68, 0x33]])
    #expect(ServiceRecord(Self.record("0001 00", lifetime: "80000000"))?.lifetime == 0)
    let bytes = Self.record("0001 00")
    for count in 0..<bytes.count { #expect(ServiceRecord(Array(bytes.prefix(count))) == nil) }
    #expect(ServiceRecord(bytes + [0]) == nil)
    // An address.
    #expect(ServiceRecord(Self.hex("016100 0001 0001 0000012c 0004 c0000201")) == nil)
  }

  @Test(arguments: [
    ("a.example", 443, "a.example"), ("a.example", 8443, "_8443._https.a.example"),
  ])
  func recordsOfAPortHaveAName(_ host: String, _ port: Int, _ name: String) {
    #expect(ServiceRecord.name(host: host, port: port) == name)
  }

  private static let h3 = "0001 0003 02 6833"
  private static let owner = "0161076578616d706c6500"

  @Test(
    arguments: [
      ("none", [], 443, nil), ("HTTP/3", ["0001 00" + h3], 443, 443),
      ("at another port", ["0001 00" + h3 + "0003 0002 20fb"], 443, 8443),
      ("at the port of DNS", ["0001 00" + h3 + "0003 0002 0035"], 443, nil),
      ("at the port of memcached", ["0001 00" + h3 + "0003 0002 2bcb"], 443, nil),
      ("at port 0", ["0001 00" + h3 + "0003 0002 0000"], 443, nil),
      ("at the owner by name", ["0001" + owner + h3], 443, 443), ("elsewhere", ["0001" + com + h3], 443, nil),
      ("no word of protocols", ["0001 00"], 443, nil), ("HTTP/2", ["0001 00 0001 0003 02 6832"], 443, nil),
      ("the best one", ["0002 00" + h3 + "0003 0002 20fb", "0001 00" + h3 + "0003 0002 01bb"], 443, 443),
      ("elsewhere is better", ["0001" + com + h3, "0002 00" + h3], 443, 443),
      ("an alias", ["0000" + com, "0001 00" + h3], 443, nil),
      ("a demand that is not understood", ["0001 00 0000 0002 029b" + h3 + "029b 0000"], 443, nil),
      ("for a port", ["0001" + owner + h3], 444, 444),
      ("for a port, at a name that is no host", ["0001 00" + h3], 444, nil),
    ] as [(String, [String], Int, Int?)])
  func offers(_ description: String, _ data: [String], port: Int, offered: Int?) {
    let owner = port == 443 ? Self.owner : "045f343434065f6874747073" + Self.owner
    let records = data.compactMap { ServiceRecord(Self.record($0, owner: owner)) }
    #expect(records.count == data.count)
    let offer = HTTP3Offer(records, host: "A.example", port: port)
    #expect(offer == offered.map { HTTP3Offer(port: $0, lifetime: 300) })
  }

  @Test func anOfferHoldsAsLongAsItsRecords() {
    let records = ["0000012c", "00000005"].compactMap {
      ServiceRecord(Self.record("0001 00" + Self.h3, lifetime: $0))
    }
    #expect(HTTP3Offer(records, host: "a.example", port: 443)?.lifetime == 5)
    let ended = ServiceRecord(Self.record("0001 00" + Self.h3, lifetime: "00000000"))
    #expect(HTTP3Offer([ended].compactMap { $0 }, host: "a.example", port: 443) == nil)
  }
}
