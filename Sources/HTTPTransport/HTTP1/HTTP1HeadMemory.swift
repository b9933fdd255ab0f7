import HTTPSemantics
import NIOCore

/// The head that was encoded last, and its bytes: many programs send the same head again and again. For the loop of a pool.
struct HTTP1HeadMemory {
  private(set) var last: HTTPRequestHead?
  private var bytes = ByteBuffer()

  private static let longestTarget = 2_048

  /// The bytes of the head of a request without a body.
  mutating func encode(
    _ head: HTTPRequestHead, into makeBuffer: () -> ByteBuffer
  ) throws(FieldValidation.Refusal) -> ByteBuffer {
    if let last, last == head { return bytes }
    var made = makeBuffer()
    try HTTP1RequestEncoder.encode(head, framing: .none, into: &made)
    if HTTP1HeadMemory.mayBeKept(head) { (last, bytes) = (head, made) }
    return made
  }

  /// Whether a head may stay in memory beyond its request: no credential, and nothing long.
  private static func mayBeKept(_ head: HTTPRequestHead) -> Bool {
    head.target.utf8.count <= longestTarget
      && !["Authorization", "Cookie", "Proxy-Authorization"].contains { head.fields.contains($0) }
  }
}
