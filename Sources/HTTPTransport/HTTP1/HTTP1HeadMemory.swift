import Glibc
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

  private static func areSame(_ a: HTTPRequestHead, _ b: HTTPRequestHead) -> Bool {
    areSame(a.target, b.target) && areSame(a.method, b.method) && areSame(a.authority, b.authority)
      && (a.fields.isIdentical(to: b.fields) || areSame(a.fields.fields, b.fields.fields))
  }

  private static func areSame(_ a: [HTTPFields.Field], _ b: [HTTPFields.Field]) -> Bool {
    guard a.count == b.count else { return false }
    for index in a.indices {
      guard areSame(a[index].name, b[index].name), areSame(a[index].value, b[index].value) else { return false }
    }
    return true
  }

  /// Byte for byte: strings that differ in their bytes may be equal.
  private static func areSame(_ a: String, _ b: String) -> Bool {
    var (a, b) = (a, b)
    return a.withUTF8 { a in
      b.withUTF8 { b in
        guard a.count == b.count else { return false }
        guard let first = a.baseAddress, let second = b.baseAddress else { return true }
        return memcmp(first, second, a.count) == 0
      }
    }
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
