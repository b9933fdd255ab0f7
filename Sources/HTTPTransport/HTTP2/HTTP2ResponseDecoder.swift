import HTTPSemantics
import NIOCore
import NIOHPACK

/// Decodes the header blocks of a connection, and keeps the last head with its block: many servers answer several requests with
/// the same head.
///
/// A block that comes again is not decoded, though it may add its fields to the table of HPACK once more: that is made up for
/// before another block is decoded.
package struct HTTP2ResponseDecoder {
  private var decoder: HPACKDecoder
  /// The fields that `block` stands for; nil where it may not stand for them.
  private var last: HTTP2FieldSection?
  private var block = ByteBuffer()
  /// How many fields the block adds to the table.
  private var added = 0
  /// How often it came without being decoded.
  private var skipped = 0

  private static let longestBlock = 2_048
  /// RFC 7541 §4.1: each takes 32 bytes at least.
  private static let mostEntries = HPACKDecoder.maxDynamicTableSize / 32

  package init() {
    decoder = HPACKDecoder(
      allocator: ByteBufferAllocator(), maxDynamicTableSize: HPACKDecoder.maxDynamicTableSize,
      maxHeaderListSize: ResponseLimits.standard.headBytes)
  }

  package mutating func decode(_ block: ByteBuffer) throws -> HTTP2FieldSection {
    if let last, block == self.block {
      skipped += 1
      return last
    }
    try makeUp()
    let effect = HPACKBlock(block)
    // The block that is kept may stand for other fields once the table changes.
    if effect?.added != 0 { last = nil }
    var rest = block
    let section = HTTP2FieldSection(try decoder.decodeHeaders(from: &rest))
    if let effect, effect.canRepeat, block.readableBytes <= HTTP2ResponseDecoder.longestBlock,
      section.head?.mayBeKept == true
    {
      (last, added) = (section, effect.added)
      self.block.clear()
      self.block.writeImmutableBuffer(block)
    }
    return section
  }

  /// Has the table as the blocks leave it that were not decoded. The same fields that fill it several times leave it as they do
  /// when they fill it once.
  private mutating func makeUp() throws {
    defer { skipped = 0 }
    guard added > 0 else { return }
    for _ in 0..<min(skipped, HTTP2ResponseDecoder.mostEntries / added + 1) {
      var rest = block
      _ = try decoder.decodeHeaders(from: &rest)
    }
  }
}
