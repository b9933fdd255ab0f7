import Testing

@testable import HTTPSemantics

@Suite struct DNSRecordTests {
  /// `A.example`, and `b.example`.
  private static let owner: [UInt8] = [1, 0x41, 7] + Array("example".utf8) + [0]
  private static let other: [UInt8] = [1, 0x62, 7] + Array("example".utf8) + [0]

  private static func record(
    _ owner: [UInt8] = owner, type: UInt8, class: UInt8 = 1, lifetime: [UInt8] = [0, 0, 0, 60], _ data: [UInt8],
    length: UInt8? = nil
  ) -> [UInt8] {
    var bytes = owner
    bytes += [0, type, 0, `class`]
    bytes += lifetime
    bytes += [0, length ?? UInt8(data.count)]
    return bytes + data
  }

  @Test func anAddressHasAnOwnerAndATime() throws {
    let record = try #require(DNSRecord(Self.record(type: 1, [192, 0, 2, 1])))
    #expect(record.owner == "a.example" && record.type == DNSRecord.addressOfIPv4 && record.lifetime == 60)
    #expect(record.data == [192, 0, 2, 1] && record.target == nil)
    let long = try #require(DNSRecord(Self.record(type: 28, lifetime: [0xff, 0xff, 0xff, 0xff], [])))
    #expect(long.lifetime == .max && long.type == DNSRecord.addressOfIPv6)
  }

  @Test(
    arguments: [
      (Self.other, "b.example"), ([0], ""), (Self.other + [0], nil), (Array(Self.other.dropLast()), nil),
      ([0xc0, 0x0c], nil), ([], nil),
    ] as [([UInt8], String?)])
  func anAliasHasATarget(_ data: [UInt8], _ target: String?) throws {
    let record = try #require(DNSRecord(Self.record(type: 5, data)))
    #expect(record.target == target)
  }

  @Test func whatIsMalformedIsNoRecord() {
    let whole = Self.record(type: 1, [192, 0, 2, 1])
    for count in 0..<whole.count { #expect(DNSRecord(Array(whole.prefix(count))) == nil) }
    for bytes in [
      whole + [0], Self.record(type: 1, class: 3, [192, 0, 2, 1]), Self.record(type: 1, [1], length: 2),
      Self.record(type: 1, [1], length: 0), Self.record([0xc0, 0x0c], type: 1, [1]),
    ] { #expect(DNSRecord(bytes) == nil) }
  }
}
