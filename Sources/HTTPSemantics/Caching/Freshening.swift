/// The update of stored fields from a 304 or an answer to HEAD, and the fields that are stored at all.
package enum Freshening {
  /// The head of a response as it is stored when it arrives: with a Date in any case (RFC 9110 §6.6.1).
  static func storedHead(_ head: HTTPResponseHead, receivedAt time: Int64) -> HTTPResponseHead {
    var stored = storedHead(head)
    if !head.fields.contains("Date") { stored.fields.append("Date", HTTPDate.format(time)) }
    return stored
  }

  /// The head of a response as it is stored (RFC 9111 §3.1).
  package static func storedHead(_ head: HTTPResponseHead) -> HTTPResponseHead {
    var stored = head
    let dropped = hopFields(of: head.fields)
    // RFC 9111 §5.2.2.4: fields that may not be used without asking are not kept.
    let unusable = CacheControl(head.fields).noCacheFields
    stored.fields.fields.removeAll { field in
      let name = field.name.asciiLowercased()
      return dropped.contains(name) || unusable.contains(name)
    }
    return stored
  }

  /// The stored response with the fields that a 304 brings (RFC 9111 §3.2 and §4.3.4).
  package static func freshened(
    _ stored: StoredHead, by head: HTTPResponseHead, requestTime: Int64, responseTime: Int64
  ) -> StoredHead {
    var updated = stored
    updated.head.fields = merged(stored.head.fields, with: storedHead(head, receivedAt: responseTime).fields)
    // RFC 9111 §4.2.3: the age counts from the validation.
    if !head.fields.contains("Age") { updated.head.fields.remove("Age") }
    updated.requestTime = requestTime
    updated.responseTime = responseTime
    return updated
  }

  /// Every field that the new head has replaces all of that name.
  private static func merged(_ old: HTTPFields, with new: HTTPFields) -> HTTPFields {
    let updates = new.fields.filter { !isKept($0.name.asciiLowercased()) }
    let names = Set(updates.map { $0.name.asciiLowercased() })
    var merged = HTTPFields(old.fields.filter { !names.contains($0.name.asciiLowercased()) })
    merged.fields += updates
    return merged
  }

  /// Lets the fields that the Vary of a 304 names decide too, besides those that decided so far (RFC 9111 §3.2, §4.1). A
  /// stored response for another request keeps its own: the values which that request had are not known.
  static func add(_ names: [String], of exchange: StoreDecision.Exchange, to stored: inout StoredHead) {
    let all = Set(stored.selecting.names).union(names)
    guard all.count > stored.selecting.names.count, stored.selecting.match(exchange.request.fields) else { return }
    stored.selecting = SelectingFields(all.sorted(), of: exchange.request.fields)
    stored.head.fields["Vary"] = all.sorted().joined(separator: ", ")
  }

  /// RFC 9111 §3.2: these describe the stored bytes, of which a 304 brings none. Vary is added to.
  private static func isKept(_ name: String) -> Bool {
    switch name {
    case "content-length", "content-encoding", "content-range", "vary": true
    default: false
    }
  }

  /// RFC 9111 §3.1: fields that belong to one connection or to a proxy, in lower case.
  private static let hopFields: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
    "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    // RFC 9110 §11.6.3: it speaks about the one request that it answers.
    "authentication-info",
  ]

  private static func hopFields(of fields: HTTPFields) -> Set<String> {
    guard fields.contains("Connection") else { return hopFields }
    var names = hopFields
    for value in fields.values("Connection") {
      for member in value.utf8.split(separator: UInt8(ascii: ",")) {
        names.insert(Substring(member).trimmingHTTPWhitespace().asciiLowercased())
      }
    }
    return names
  }

  // MARK: Choosing the response

  /// The stored responses that a 304 to a request with the app's own condition speaks of (RFC 9111 §4.3.4): by a strong
  /// tag, or by the only weak validator that matches.
  static func indices(selectedBy head: HTTPResponseHead, among stored: [StoredHead], _ request: HTTPFields) -> [Int] {
    if let tag = Validation.tag(of: head.fields), ResumeValidator.isStrong(tag) {
      return stored.indices.filter { Validation.tag(of: stored[$0].head.fields) == tag }
    }
    let matching = stored.indices.filter { stored[$0].selecting.match(request) }
    guard matching.count == 1, let only = matching.first else { return [] }
    let own = stored[only].head.fields
    if let tag = Validation.tag(of: head.fields) { return Validation.tag(of: own) == tag ? [only] : [] }
    if let date = head.fields["Last-Modified"] { return own["Last-Modified"] == date ? [only] : [] }
    return own.contains("ETag") || own.contains("Last-Modified") ? [] : [only]
  }

  /// RFC 9111 §4.3.4: a 304 that has another entity tag than the stored response does not update it. A server that judges by
  /// the date alone sends one after a change within the second that the date names.
  static func isContradiction(_ head: HTTPResponseHead, to stored: StoredHead) -> Bool {
    guard let new = Validation.tag(of: head.fields), let old = Validation.tag(of: stored.head.fields) else {
      return false
    }
    return Validation.opaque(new[...]) != Validation.opaque(old[...])
  }

  /// RFC 9111 §4.3.5: whether the answer to a HEAD speaks of the stored representation.
  static func isSameRepresentation(_ stored: StoredHead, _ head: HTTPResponseHead) -> Bool {
    guard stored.head.status == head.status else { return false }
    for name in ["ETag", "Last-Modified", "Content-Length"] {
      if let new = head.fields[name], let old = stored.head.fields[name], new != old { return false }
    }
    return true
  }
}
