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
    if let last, HTTP1HeadMemory.areSame(last, head) { return bytes }
    var made = makeBuffer()
    try HTTP1RequestEncoder.encode(head, framing: .none, into: &made)
    if HTTP1HeadMemory.mayBeKept(head) { (last, bytes) = (head, made) }
    return made
  }

  /// Byte for byte: strings that differ in their bytes may be equal.
  private static func areSame(_ a: HTTPRequestHead, _ b: HTTPRequestHead) -> Bool {
    func same(_ a: String, _ b: String) -> Bool { a.utf8.count == b.utf8.count && a.utf8.elementsEqual(b.utf8) }
    return same(a.target, b.target) && same(a.method, b.method) && same(a.authority, b.authority)
      && a.fields.fields.count == b.fields.fields.count
      && zip(a.fields.fields, b.fields.fields).allSatisfy { same($0.name, $1.name) && same($0.value, $1.value) }
  }

  /// Fields without secrets.
  private static let plainFields: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "if-modified-since", "if-none-match",
    "range", "user-agent",
  ]

  /// Whether a head may stay in memory beyond its request: nothing that may be a secret, and nothing long.
  private static func mayBeKept(_ head: HTTPRequestHead) -> Bool {
    head.target.utf8.count <= longestTarget && !head.target.utf8.contains(UInt8(ascii: "?"))
      && head.fields.fields.allSatisfy { plainFields.contains($0.name.lowercased()) }
  }
}
