/// How a client delimited its request body.
package enum BodyFraming: Sendable, Equatable {
  /// Neither Content-Length nor Transfer-Encoding: there is no body.
  case none
  case length(Int64)
  /// The sizes of the chunks in order, without the last one of size zero; at most the first 4,096.
  case chunked(sizes: [Int])
}

/// How much of a request body a server keeps. It always counts and digests all of it.
package struct BodyRecording: Sendable {
  let limit: Int

  /// Keeps the first `limit` bytes.
  package static func keep(_ limit: Int) -> BodyRecording { BodyRecording(limit: limit) }
  /// Keeps none: for uploads of any size.
  package static let digestOnly = BodyRecording(limit: 0)
}

/// The body of a request, as far as it was read.
package struct RecordedBody: Sendable {
  /// Its first bytes, up to the server's recording limit.
  package private(set) var bytes: [UInt8] = []
  /// How many bytes came, kept or not.
  package private(set) var count: Int64 = 0
  private var hash = BodyDigest()

  /// The digest of all of it; equals ``BytePattern/digest(count:)`` of a pattern with the same bytes.
  package var digest: UInt64 { hash.value }

  /// The kept bytes as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  mutating func append(_ piece: UnsafeRawBufferPointer, keeping limit: Int) {
    count += Int64(piece.count)
    hash.update(piece)
    let room = limit - bytes.count
    if room > 0 { bytes.append(contentsOf: piece.prefix(room)) }
  }
}

/// One request as a server recorded it.
@dynamicMemberLookup
package struct RecordedRequest: Sendable {
  package var head: RequestHead
  package var framing: BodyFraming
  package var body: RecordedBody
  package var trailers: HeaderList
  /// Whether the whole body arrived. Not so when the client left in the middle, or when the script answered without
  /// reading it.
  package var isComplete: Bool

  /// Everything of the head can be asked of the request: `request.method`, `request.fields`.
  package subscript<Value>(dynamicMember member: KeyPath<RequestHead, Value>) -> Value { head[keyPath: member] }

  /// The value of a header field; see ``RequestHead/value(_:)``.
  package func value(_ name: String) -> String? { head.value(name) }
  package func values(_ name: String) -> [String] { head.values(name) }
}
