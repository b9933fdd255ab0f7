/// The attributes of the server that NTLM sends and the client returns: AV_PAIR structures (MS-NLMP §2.2.2.1).
package struct NTLMTargetInformation: Sendable, Equatable {
  package struct Attribute: Sendable, Equatable {
    package var id: UInt16
    package var value: [UInt8]
  }

  /// MsvAvEOL is not among them.
  package private(set) var attributes: [Attribute] = []

  static let flags: UInt16 = 6
  static let timestamp: UInt16 = 7
  static let targetName: UInt16 = 9
  static let channelBindings: UInt16 = 10

  init() {}

  /// nil when a length goes beyond the end, or MsvAvEOL is missing. What follows MsvAvEOL is ignored.
  init?(_ bytes: [UInt8]) {
    var offset = 0
    while let id = bytes.littleEndian16(at: offset), let length = bytes.littleEndian16(at: offset + 2),
      let value = bytes.bytes(at: offset + 4, count: Int(length))
    {
      if id == 0 { return }
      attributes.append(Attribute(id: id, value: Array(value)))
      offset += 4 + value.count
    }
    return nil
  }

  /// The value of the first attribute with that ID. Setting replaces all of them, at the place of the first or at the
  /// end; nil removes them.
  subscript(id: UInt16) -> [UInt8]? {
    get { attributes.first { $0.id == id }?.value }
    set {
      let place = attributes.firstIndex { $0.id == id }
      attributes.removeAll { $0.id == id }
      guard let newValue else { return }
      attributes.insert(Attribute(id: id, value: newValue), at: place ?? attributes.endIndex)
    }
  }

  /// With MsvAvEOL. nil when a value is longer than its length can say.
  var bytes: [UInt8]? {
    var bytes: [UInt8] = []
    for attribute in attributes {
      guard let length = UInt16(exactly: attribute.value.count) else { return nil }
      bytes.append(littleEndian: attribute.id)
      bytes.append(littleEndian: length)
      bytes += attribute.value
    }
    return bytes + [0, 0, 0, 0]
  }
}
