import NIOCore

/// The use that a header block makes of the table of HPACK, seen without decoding it (RFC 7541 §6).
package struct HPACKBlock: Equatable {
  /// How many fields the block adds to the table.
  package private(set) var added = 0
  /// Whether any of its fields is in the table, beyond those that always are.
  package private(set) var usesTable = false

  /// Whether the same block stands for the same fields when it comes again and again. One that adds fields moves those that are
  /// there to other places.
  package var canRepeat: Bool { added == 0 || !usesTable }

  /// The entries of RFC 7541 Appendix A.
  private static let constantEntries = 61

  /// nil where the block can't be read or changes the size of the table.
  package init?(_ block: ByteBuffer) {
    let isRead = block.withUnsafeReadableBytes { bytes in
      var position = 0
      while position < bytes.count {
        guard readField(bytes, at: &position) else { return false }
      }
      return true
    }
    guard isRead else { return nil }
  }

  private mutating func readField(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Bool {
    let first = bytes[position]
    // §6.1: an entry. §6.2.1: a field to be added. §6.3: another size. §6.2.2, §6.2.3: a field that is not added.
    let isEntry = first & 0x80 != 0
    let isAdded = first & 0xC0 == 0x40
    guard isEntry || isAdded || first & 0xE0 == 0 else { return false }
    let prefix = isEntry ? 7 : isAdded ? 6 : 4
    guard let entry = HPACKBlock.integer(bytes, at: &position, prefix: prefix) else { return false }
    if entry > HPACKBlock.constantEntries { usesTable = true }
    if isAdded { added += 1 }
    if isEntry { return true }
    if entry == 0 { guard HPACKBlock.skipString(bytes, at: &position) else { return false } }
    return HPACKBlock.skipString(bytes, at: &position)
  }

  private static func skipString(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Bool {
    guard let length = integer(bytes, at: &position, prefix: 7), length <= bytes.count - position else { return false }
    position += length
    return true
  }

  /// RFC 7541 §5.1. nil where it has no end, or is larger than anything in a block can be.
  private static func integer(_ bytes: UnsafeRawBufferPointer, at position: inout Int, prefix: Int) -> Int? {
    guard position < bytes.count else { return nil }
    let mask = UInt8((1 << prefix) - 1)
    var value = Int(bytes[position] & mask)
    position += 1
    guard value == Int(mask) else { return value }
    for shift in stride(from: 0, through: 21, by: 7) {
      guard position < bytes.count else { return nil }
      let byte = bytes[position]
      position += 1
      value += Int(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }
}
