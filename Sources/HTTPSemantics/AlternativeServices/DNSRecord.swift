/// A record of the Internet's class, of any type: its owner, its time to live, and its data.
package struct DNSRecord: Hashable, Sendable {
  /// In lower case and without the last dot.
  package let owner: String
  package let type: UInt16
  /// In seconds.
  package let lifetime: UInt32
  package let data: [UInt8]

  package static let addressOfIPv4: UInt16 = 1
  package static let alias: UInt16 = 5
  package static let addressOfIPv6: UInt16 = 28

  /// From a whole record as RFC 1035 §3.2.1 has it. nil for one of another class, and for what is malformed.
  package init?(_ bytes: [UInt8]) {
    var reader = DNSReader(bytes[...])
    guard let owner = reader.name(), let type = reader.number(), reader.number() == 1,
      let lifetime = reader.longNumber(), let length = reader.number(), let data = reader.bytes(Int(length)),
      reader.isAtEnd
    else { return nil }
    self.owner = owner
    self.type = type
    self.lifetime = lifetime
    self.data = Array(data)
  }

  /// The name that an alias (CNAME) leads to, in lower case and without the last dot. nil for other records, and where it is
  /// malformed.
  package var target: String? {
    guard type == DNSRecord.alias else { return nil }
    var reader = DNSReader(data[...])
    guard let name = reader.name(), reader.isAtEnd else { return nil }
    return name
  }
}
