import HTTPSemantics
import NIOCore
import NIOHPACK

/// Compresses the field lists of a connection's requests, and keeps the last head with its block: many programs send the same
/// head again and again.
package struct HTTP2RequestEncoder {
  package enum Fields {
    /// Those of the last block.
    case asBefore
    case list(HPACKHeaders)
  }

  private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
  /// The head that `block` stands for; nil where it may not be sent again.
  private var last: HTTPRequestHead?
  /// The block that was encoded last.
  package private(set) var block = ByteBuffer()
  /// Fields that may be kept: most requests of a session share one list.
  private var plainFields: HTTPFields?

  package init() {}

  /// The fields of a request's head, for `encode(_:of:)`.
  package func fields(
    of head: HTTPRequestHead, framing: RequestBodyFraming
  ) throws(FieldValidation.Refusal) -> Fields {
    if framing == .none, let last, last.isSame(as: head) { return .asBefore }
    return .list(try HTTP2RequestFields.list(head, framing: framing))
  }

  /// Leaves the fields in `block`.
  ///
  /// - Parameter head: The head that has these fields and no others; nil for none.
  package mutating func encode(_ fields: Fields, of head: HTTPRequestHead? = nil) throws {
    guard case .list(let list) = fields else { return }
    last = nil
    block.clear()
    try encoder.encode(headers: list, to: &block)
    if let head, HPACKBlock(block)?.added == 0, mayBeKept(head) { last = head }
  }

  /// RFC 7541 §4.2: the change is told in the next block.
  package mutating func setTableSize(_ size: Int) {
    last = nil
    try? encoder.setDynamicTableSize(min(size, HPACKEncoder.defaultDynamicTableSize))
  }

  private mutating func mayBeKept(_ head: HTTPRequestHead) -> Bool {
    guard head.targetMayBeKept else { return false }
    if let plainFields, plainFields.isIdentical(to: head.fields) { return true }
    guard head.fieldsMayBeKept else { return false }
    plainFields = head.fields
    return true
  }
}
