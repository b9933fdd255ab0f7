/// The identity of the representation that a partial download came from, so that only the very same is continued.
package struct ResumeValidator: Sendable, Equatable, Codable {
  /// The entity tag as sent, weak ones included: a weak tag can't ask for a range, but it can tell of a change.
  package var entityTag: String?
  /// The Last-Modified date as sent.
  package var lastModified: String?
  /// Whether that date is precise enough to stand for the bytes (RFC 9110 §8.8.2.2).
  package var isLastModifiedStrong: Bool

  package init(entityTag: String? = nil, lastModified: String? = nil, isLastModifiedStrong: Bool = false) {
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.isLastModifiedStrong = isLastModifiedStrong
  }

  /// The validator of a complete or partial response, or nil when it can't be resumed: no usable validator, a server
  /// that says it serves no ranges, or a body whose coding makes its bytes other than the stored ones.
  /// - Parameter receivedAt: seconds since 1970; stands in for a missing Date field (RFC 9110 §6.6.1).
  package init?(fields: HTTPFields, receivedAt: Int64) {
    guard !fields.hasToken("none", in: "Accept-Ranges"), ContentCodings(fields: fields).isIdentity else { return nil }
    let modified = fields.values("Last-Modified").first
    let date = fields.values("Date").first.flatMap { HTTPDate.parse($0, now: receivedAt) } ?? receivedAt
    // RFC 9110 §8.8.2.2: a resource may change twice within the second that its date names.
    let isStrong = modified.flatMap { HTTPDate.parse($0, now: receivedAt) }.map { $0 < date } ?? false
    self.init(
      entityTag: fields.values("ETag").first.flatMap { Self.isEntityTag($0) ? $0 : nil },
      lastModified: modified, isLastModifiedStrong: isStrong)
    guard condition != nil else { return nil }
  }

  /// The value for If-Range, or nil when nothing identifies the bytes.
  ///
  /// RFC 9110 §13.1.5 lets a date be used only where there is no entity tag. A server that sends weak tags would then
  /// never be resumed; since its weak tag is compared in the answer too, its strong date is used all the same.
  package var condition: String? {
    if let entityTag, Self.isStrong(entityTag) { return entityTag }
    guard isLastModifiedStrong, let lastModified, FieldValidation.isFieldValue(lastModified) else { return nil }
    return lastModified
  }

  /// RFC 9110 §8.8.3: quoted, and not marked weak.
  package static func isStrong(_ tag: String) -> Bool { isEntityTag(tag) && tag.utf8.first == UInt8(ascii: "\"") }

  /// RFC 9110 §8.8.3: `[W/]"opaque"`.
  private static func isEntityTag(_ tag: String) -> Bool {
    var bytes = tag.utf8[...]
    if bytes.starts(with: "W/".utf8) { bytes = bytes.dropFirst(2) }
    guard bytes.count >= 2, bytes.popFirst() == UInt8(ascii: "\""), bytes.popLast() == UInt8(ascii: "\"") else {
      return false
    }
    return bytes.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
  }
}
