import Crypto

/// All that a cache knows of a stored response besides its body.
package struct StoredHead: Sendable, Equatable {
  package var head: HTTPResponseHead
  /// When the request was sent and the response arrived, in seconds since 1970 (RFC 9111 §4.2.3).
  package var requestTime: Int64
  package var responseTime: Int64
  package var selecting: SelectingFields
  /// A mark of the user who asked, by the request's Authorization or by its connection; nil for none.
  package var credentialMark: [UInt8]?
  /// The bytes of the representation that are stored; nil when it is complete.
  package var part: StoredPart?
  /// The length of the stored body in bytes.
  package var bodyLength: Int64 = 0
  /// Whether the body's content codings are undone already, though the fields still name them.
  package var isDecoded = false
  /// The URL of the request, without its fragment.
  package var url: String

  package init(
    head: HTTPResponseHead, url: String, requestTime: Int64, responseTime: Int64, selecting: SelectingFields,
    credentialMark: [UInt8]? = nil, part: StoredPart? = nil
  ) {
    self.head = head
    self.url = url
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.selecting = selecting
    self.credentialMark = credentialMark
    self.part = part
  }

  /// A mark by which two requests with the same Authorization are told from two with different ones. It holds too
  /// little of the digest to find the credential from.
  package static func mark(of request: HTTPFields) -> [UInt8]? {
    guard let value = request["Authorization"] else { return nil }
    return mark(value)
  }

  /// The same for a request without the field, over a connection that speaks for a user.
  static func mark(ofConnectionUser user: String) -> [UInt8] { mark("connection of " + user) }

  private static func mark(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8)).prefix(5)) }
}

/// A part of a representation: its bytes from `first` to `last`, both included, of `total`.
package struct StoredPart: Sendable, Equatable {
  package var first: Int64
  package var last: Int64
  /// nil when the server did not say.
  package var total: Int64?

  package init(first: Int64, last: Int64, total: Int64?) {
    self.first = first
    self.last = last
    self.total = total
  }

  package var length: Int64 { last - first + 1 }
}
