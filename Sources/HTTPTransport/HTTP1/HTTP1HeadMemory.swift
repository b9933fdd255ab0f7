import HTTPSemantics
import NIOCore

/// The head that was encoded last, and its bytes: many programs send the same head again and again. For the loop of a pool.
struct HTTP1HeadMemory {
  private(set) var last: HTTPRequestHead?
  private var bytes = ByteBuffer()

  /// The bytes of the head of a request without a body.
  mutating func encode(
    _ head: HTTPRequestHead, into makeBuffer: () -> ByteBuffer
  ) throws(FieldValidation.Refusal) -> ByteBuffer {
    if let last, last.isSame(as: head) { return bytes }
    var made = makeBuffer()
    try HTTP1RequestEncoder.encode(head, framing: .none, into: &made)
    if head.targetMayBeKept, head.fieldsMayBeKept { (last, bytes) = (head, made) }
    return made
  }
}
