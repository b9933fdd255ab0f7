/// Which responses are stored (RFC 9111 §3).
enum Storability {
  /// The response to a GET as it is to be stored; nil when it must not or need not be.
  static func entry(for exchange: StoreDecision.Exchange) -> StoredHead? {
    let (request, head) = (exchange.request, exchange.head)
    // Most small answers end here.
    guard saysSomething(head.fields) else { return nil }
    let control = CacheControl(head.fields)
    guard !CacheableStatus.isOfOneRequest(head.status), !request.control.noStore, mayBeStored(head, control),
      // A condition that the origin was to judge makes its answer one to this request only.
      !request.hasOriginCondition,
      // RFC 9111 §4.1: Vary: * matches no later request.
      let selecting = SelectingFields(vary: head.fields, of: request.fields)
    else { return nil }
    var part: StoredPart?
    if head.status == 206 {
      guard let found = self.part(of: head) else { return nil }
      part = found
    }
    let stored = StoredHead(
      head: Freshening.storedHead(head, receivedAt: exchange.responseTime), url: exchange.url,
      requestTime: exchange.requestTime, responseTime: exchange.responseTime, selecting: selecting,
      credentialMark: request.credentialMark, part: part)
    guard isOfUse(stored, control) else { return nil }
    return stored
  }

  /// Whether there is a field from which a lifetime or a validator could come.
  private static func saysSomething(_ fields: HTTPFields) -> Bool {
    fields.fields.contains { field in
      switch field.name.utf8.count {
      case 4: asciiCaseInsensitiveEqual(field.name, "ETag")
      case 7: asciiCaseInsensitiveEqual(field.name, "Expires")
      case 13:
        asciiCaseInsensitiveEqual(field.name, "Cache-Control") || asciiCaseInsensitiveEqual(field.name, "Last-Modified")
      default: false
      }
    }
  }

  /// RFC 9111 §5.2.2.3 and §5.2.2.5.
  private static func mayBeStored(_ head: HTTPResponseHead, _ control: CacheControl) -> Bool {
    if control.mustUnderstand { return CacheableStatus.isUnderstood(head.status) }
    return !control.noStore
  }

  /// RFC 9111 §3 lets more be stored than can ever be used: a response that is never fresh and can't be validated.
  private static func isOfUse(_ stored: StoredHead, _ control: CacheControl) -> Bool {
    if Validation.fields(for: stored) != nil {
      // A status without heuristics and without a lifetime answers nothing, and only a success is validated.
      return CacheableStatus.isHeuristic(stored.head.status) || hasLifetime(stored, control)
    }
    guard !control.noCache else { return false }
    return Freshness.lifetime(of: stored, control) > 0 || (control.staleIfError?.count ?? 0) > 0
      || (control.staleWhileRevalidate?.count ?? 0) > 0
  }

  private static func hasLifetime(_ stored: StoredHead, _ control: CacheControl) -> Bool {
    control.isPublic || Freshness.lifetime(of: stored, control) > 0
  }

  /// RFC 9110 §14.4: one part whose length the fields agree about.
  private static func part(of head: HTTPResponseHead) -> StoredPart? {
    let values = head.fields.values("Content-Range")
    guard values.count == 1, case .part(let first, let last, let total)? = ContentRange(parsing: values[0]),
      ContentCodings(fields: head.fields).isIdentity, head.fields.contentLength ?? last - first + 1 == last - first + 1
    else { return nil }
    return StoredPart(first: first, last: last, total: total)
  }

  /// RFC 9110 §9.3.3: the answer to a POST stands for a GET when it has a lifetime and says that it is the resource.
  static func entryOfPost(_ exchange: StoreDecision.Exchange) -> StoredHead? {
    guard exchange.request.method == "POST", exchange.head.status == 200,
      let location = exchange.head.fields.values("Content-Location").first
    else { return nil }
    let base = URIReference(exchange.url)
    var target = URIReference(location).resolved(against: base)
    target.fragment = nil
    let control = CacheControl(exchange.head.fields)
    guard target.text == exchange.url, control.maxAge != nil || exchange.head.fields.contains("Expires"),
      let entry = entry(for: exchange), Freshness.lifetime(of: entry, control) > 0
    else { return nil }
    return entry
  }
}
