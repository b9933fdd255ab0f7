/// The answer that a stored response gives to a request: all of it, a part, or the word that the client's copy is good.
package enum StoredAnswer: Sendable, Equatable {
  /// The stored response as it is; without its body for HEAD.
  case whole
  /// Bytes of the representation, both ends included: 206 (RFC 9110 §14).
  case part(first: Int64, last: Int64, total: Int64?)
  /// 304, because the request's own condition says so (RFC 9111 §4.3.2).
  case notModified

  init?(_ stored: StoredHead, _ request: CacheRequest) {
    let fields = request.fields
    if Validation.isNotModified(stored, fields) {
      self = .notModified
      return
    }
    // RFC 9110 §14.2: a range is defined for GET only.
    guard request.method == "GET", let value = fields["Range"], let range = RequestedRange(value) else {
      // Ranges that are not understood may be ignored, but the origin may know better.
      guard stored.part == nil, request.method == "HEAD" || !fields.contains("Range") else { return nil }
      self = .whole
      return
    }
    guard stored.head.status == 200 || stored.head.status == 206 else { return nil }
    // RFC 9110 §13.1.5: where the client's part is of another representation, it gets the whole.
    if let condition = fields["If-Range"], !Validation.matchesStrongly(stored, condition) {
      guard stored.part == nil else { return nil }
      self = .whole
      return
    }
    // A range counts the bytes of the coded representation, and a part of those is of no use.
    guard !stored.isDecoded, ContentCodings(fields: stored.head.fields).isIdentity else { return nil }
    let total = stored.part.map { $0.total } ?? stored.bodyLength
    guard let (first, last) = range.resolved(total: total) else { return nil }
    if let part = stored.part { guard first >= part.first, last <= part.last else { return nil } }
    self = .part(first: first, last: last, total: total)
  }
}
