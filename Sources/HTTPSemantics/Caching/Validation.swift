/// Conditional requests: made by the cache, and judged by it (RFC 9111 §4.3, RFC 9110 §13).
package enum Validation {
  /// The condition that asks whether a stored response is still good; nil without a validator.
  static func fields(for stored: StoredHead) -> HTTPFields? {
    var fields = HTTPFields()
    // RFC 9111 §4.3.1: weak tags are good enough, and both validators are sent where there are both.
    if let tag = tag(of: stored.head.fields) { fields.append("If-None-Match", tag) }
    if let modified = lastModified(of: stored.head.fields) { fields.append("If-Modified-Since", modified) }
    return fields.fields.isEmpty ? nil : fields
  }

  static func strongTag(of stored: StoredHead) -> String? {
    tag(of: stored.head.fields).flatMap { ResumeValidator.isStrong($0) ? $0 : nil }
  }

  /// The first entity tag. One without quotes is sent back as it came, since its server may expect it so.
  static func tag(of fields: HTTPFields) -> String? {
    guard let tag = fields.values("ETag").first?.trimmingHTTPWhitespace(), !tag.isEmpty,
      FieldValidation.isFieldValue(tag)
    else { return nil }
    return tag
  }

  private static func lastModified(of fields: HTTPFields) -> String? {
    guard let date = fields.values("Last-Modified").first?.trimmingHTTPWhitespace(), HTTPDate.parse(date) != nil,
      FieldValidation.isFieldValue(date)
    else { return nil }
    return date
  }

  // MARK: Conditions of the app

  /// Whether the request's own condition says that its copy is good.
  static func isNotModified(_ stored: StoredHead, _ request: HTTPFields) -> Bool {
    guard stored.head.status == 200 || stored.head.status == 206 else { return false }
    // RFC 9110 §13.2.2: If-Modified-Since is not looked at beside If-None-Match.
    if let tags = request["If-None-Match"] {
      guard let own = tag(of: stored.head.fields) else { return false }
      return contains(tags, own)
    }
    guard let value = request["If-Modified-Since"], let since = HTTPDate.parse(value, now: stored.responseTime) else {
      return false
    }
    // RFC 9111 §4.3.2: without Last-Modified the date of the response, or of its arrival, stands in.
    let fields = stored.head.fields
    let date =
      CacheDate.value(of: "Last-Modified", in: fields, now: stored.responseTime)
      ?? CacheDate.value(of: "Date", in: fields, now: stored.responseTime) ?? stored.responseTime
    return date <= since
  }

  /// RFC 9110 §13.1.2: `*` or a list of tags, compared weakly.
  private static func contains(_ tags: String, _ own: String) -> Bool {
    if tags.trimmingHTTPWhitespace() == "*" { return true }
    let own = opaque(own[...])
    var rest = tags[...]
    while let quote = rest.utf8.firstIndex(of: UInt8(ascii: "\"")) {
      let start = rest.utf8.index(after: quote)
      guard let end = rest.utf8[start...].firstIndex(of: UInt8(ascii: "\"")) else { return false }
      let next = rest.utf8.index(after: end)
      if rest[quote..<next] == own { return true }
      rest = rest[next...]
    }
    return false
  }

  /// The tag without the mark of a weak one (RFC 9110 §8.8.3.2).
  static func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }

  /// RFC 9110 §13.1.5: the stored representation is byte for byte the one that `condition` names.
  static func matchesStrongly(_ stored: StoredHead, _ condition: String) -> Bool {
    if let own = strongTag(of: stored), own == condition.trimmingHTTPWhitespace() { return true }
    guard let modified = stored.head.fields.values("Last-Modified").first, modified == condition,
      let date = CacheDate.parse(modified, now: stored.responseTime),
      let origin = CacheDate.value(of: "Date", in: stored.head.fields, now: stored.responseTime)
    else { return false }
    // RFC 9110 §8.8.2.2: a resource may change twice within the second that its date names.
    return date < origin
  }
}
