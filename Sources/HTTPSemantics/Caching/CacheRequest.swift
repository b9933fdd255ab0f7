/// A request as the rules of caching see it: with the fields that it is sent with, the app's conditions included.
package struct CacheRequest: Sendable {
  package var method: String
  package var fields: HTTPFields
  package var usage: CacheUsage
  package var control: CacheControl
  /// The user that the connection speaks for, where no field says who asks (RFC 4559 §6); nil for none.
  package var connectionUser: String?

  package init(
    method: String, fields: HTTPFields, usage: CacheUsage = .protocolRules, connectionUser: String? = nil
  ) {
    self.method = method
    self.fields = fields
    self.usage = usage
    self.connectionUser = connectionUser
    control = CacheControl(request: fields)
  }

  /// A mark by which requests of one user are told from those of others; nil where nothing says who asks.
  var credentialMark: [UInt8]? {
    connectionUser.map { StoredHead.mark(ofConnectionUser: $0) } ?? StoredHead.mark(of: fields)
  }

  /// Whether a stored response can answer this method (RFC 9111 §4, RFC 9110 §9.3.1 and §9.3.2).
  package var isAnswerable: Bool { method == "GET" || method == "HEAD" }

  /// Conditions that only the origin can judge, or that make a response worthless to others (RFC 9110 §13.1).
  var hasOriginCondition: Bool { fields.contains("If-Match") || fields.contains("If-Unmodified-Since") }

  /// Whether a response that is being fetched for another request may answer this one (RFC 9111 §4): it asks for the
  /// whole, under no condition, and for nothing that only the origin can give.
  package var mayShareFetch: Bool {
    guard method == "GET", usage == .protocolRules || usage == .preferStored else { return false }
    guard !control.noCache, !control.noStore, !control.onlyIfCached, control.maxAge == nil, control.minFresh == nil
    else { return false }
    // Each request asks, and few have a field that begins as Range and the conditions do.
    return !fields.fields.contains { CacheRequest.mayBeConditionOrRange($0.name) }
      || (!hasCondition && !fields.contains("Range"))
  }

  private static func mayBeConditionOrRange(_ name: String) -> Bool {
    guard let first = name.utf8.first else { return false }
    return first | 0x20 == UInt8(ascii: "i") || first | 0x20 == UInt8(ascii: "r")
  }

  var hasCondition: Bool {
    hasOriginCondition || fields.contains("If-None-Match") || fields.contains("If-Modified-Since")
      || fields.contains("If-Range")
  }
}

/// The part that a cache has in answering a request: the six values of `NSURLRequest.CachePolicy`.
package enum CacheUsage: Sendable, Equatable {
  /// As RFC 9111 has it.
  case protocolRules
  /// Stored responses are not used; new ones are stored.
  case reload
  /// The same, and caches on the way are told not to use theirs.
  case reloadEverywhere
  /// A stored response is used whatever its age; without one the network is asked.
  case preferStored
  /// A stored response is used whatever its age; without one the load fails.
  case onlyStored
  /// A stored response is used when the origin confirms it.
  case revalidate
}
