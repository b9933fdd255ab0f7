/// The consequence of a response for what is stored, decided with its head (RFC 9111 §3, §4.3, §4.4).
package enum StoreDecision: Sendable, Equatable {
  /// The response is stored once its body is complete, in place of those stored responses.
  case store(StoredHead, replacing: [Int])
  /// A part that is stored is continued by this one: the whole of both is stored.
  case extend(Int, StoredHead)
  /// 304 to the cache's own condition, or 304 to the app's, or an answer to HEAD: those stored responses get new heads.
  case update([Int], [StoredHead])
  /// 304 that names another representation than the one that the cache asked about. That one is removed, and the request
  /// is sent as the app made it.
  case refetch(Int)
  /// All that is stored for these URLs is removed.
  case invalidate([String])
  /// Those stored responses are removed.
  case remove([Int])
  case nothing

  /// The request and its response.
  package struct Exchange: Sendable {
    package var request: CacheRequest
    /// Without a fragment.
    package var url: String
    package var head: HTTPResponseHead
    package var requestTime: Int64
    package var responseTime: Int64

    package init(
      request: CacheRequest, url: String, head: HTTPResponseHead, requestTime: Int64, responseTime: Int64
    ) {
      self.request = request
      self.url = url
      self.head = head
      self.requestTime = requestTime
      self.responseTime = responseTime
    }
  }

  /// - Parameters:
  ///   - stored: The responses that are stored for the URL.
  ///   - validated: The one that the cache itself asked about; nil for none.
  package static func decide(_ exchange: Exchange, stored: [StoredHead], validated: Int? = nil) -> StoreDecision {
    let (request, head) = (exchange.request, exchange.head)
    guard HTTPMethod.isSafe(request.method) else { return afterUnsafe(exchange, stored) }
    switch request.method {
    case "GET": break
    case "HEAD": return afterHead(exchange, stored)
    default: return .nothing
    }
    if head.status == 304 {
      if let validated, Freshening.isContradiction(head, to: stored[validated]) { return .refetch(validated) }
      let indices =
        validated.map { [$0] } ?? Freshening.indices(selectedBy: head, among: stored, request.fields)
      return update(indices, exchange, stored)
    }
    if head.status == 206 { return afterPart(exchange, stored) }
    let matching = stored.indices.filter { stored[$0].selecting.match(request.fields) }
    guard let entry = Storability.entry(for: exchange) else {
      // The stored response is no longer the one that the origin gives. Another error says nothing about that.
      return matching.isEmpty || ![200, 404, 410].contains(head.status) ? .nothing : .remove(matching)
    }
    return .store(entry, replacing: matching)
  }

  private static func update(_ indices: [Int], _ exchange: Exchange, _ stored: [StoredHead]) -> StoreDecision {
    guard !indices.isEmpty else { return .nothing }
    // RFC 9111 §5.2.1.5 and §5.2.2.5: what must not be stored updates nothing either.
    guard !exchange.request.control.noStore, !CacheControl(exchange.head.fields).noStore else {
      return .remove(indices)
    }
    let mark = exchange.request.credentialMark
    let names = SelectingFields.names(in: exchange.head.fields)
    guard let names else { return .remove(indices) }
    let heads = indices.map { index in
      var head = Freshening.freshened(
        stored[index], by: exchange.head, requestTime: exchange.requestTime, responseTime: exchange.responseTime)
      // The origin has given its word about this user.
      head.credentialMark = mark
      Freshening.add(names, of: exchange, to: &head)
      return head
    }
    return .update(indices, heads)
  }

  /// RFC 9111 §4.3.5.
  private static func afterHead(_ exchange: Exchange, _ stored: [StoredHead]) -> StoreDecision {
    let matching = stored.indices.filter { stored[$0].selecting.match(exchange.request.fields) }
    guard exchange.head.status == 200, !matching.isEmpty else { return .nothing }
    // The answer to one user's HEAD says nothing of a response that was stored for another.
    let mark = exchange.request.credentialMark
    let isOfUser = matching.allSatisfy { index in
      stored[index].credentialMark == mark
        || CacheCandidate.isForAnyCredential(CacheControl(stored[index].head.fields))
    }
    guard isOfUser else { return .nothing }
    guard matching.allSatisfy({ Freshening.isSameRepresentation(stored[$0], exchange.head) }) else {
      return .remove(matching)
    }
    return update(matching, exchange, stored)
  }

  /// RFC 9111 §3.4.
  private static func afterPart(_ exchange: Exchange, _ stored: [StoredHead]) -> StoreDecision {
    guard let entry = Storability.entry(for: exchange), let part = entry.part else { return .nothing }
    let matching = stored.indices.filter { stored[$0].selecting.match(exchange.request.fields) }
    let tag = Validation.strongTag(of: entry)
    for index in matching where tag != nil && Validation.strongTag(of: stored[index]) == tag {
      let old = stored[index]
      // The whole is better than any part of it.
      guard let oldPart = old.part else { return .nothing }
      // Of two lengths of the whole one is wrong.
      if let total = part.total, let oldTotal = oldPart.total, total != oldTotal { continue }
      guard part.first <= oldPart.last + 1, part.first >= oldPart.first, part.last > oldPart.last else { continue }
      var whole = Freshening.freshened(
        old, by: exchange.head, requestTime: exchange.requestTime, responseTime: exchange.responseTime)
      whole.part = StoredPart(first: oldPart.first, last: part.last, total: part.total ?? oldPart.total)
      whole.bodyLength = part.last - oldPart.first + 1
      if oldPart.first == 0, let total = whole.part?.total, part.last + 1 == total {
        whole.part = nil
        whole.head.status = 200
        whole.head.reason = ""
        whole.head.fields.remove("Content-Range")
        whole.head.fields["Content-Length"] = String(total)
      }
      return .extend(index, whole)
    }
    // A complete response without a strong tag can't be told to be another one: it stays.
    guard matching.allSatisfy({ stored[$0].part != nil }) else { return .nothing }
    return .store(entry, replacing: matching)
  }

  /// RFC 9111 §4.4: after a success, and after a redirect, what is stored for the URL may be wrong.
  private static func afterUnsafe(_ exchange: Exchange, _ stored: [StoredHead]) -> StoreDecision {
    guard (200..<400).contains(exchange.head.status) else { return .nothing }
    if let entry = Storability.entryOfPost(exchange) { return .store(entry, replacing: Array(stored.indices)) }
    var urls = [exchange.url]
    let base = URIReference(exchange.url)
    guard let origin = HTTPOrigin(base) else { return .invalidate(urls) }
    for name in ["Location", "Content-Location"] {
      guard let value = exchange.head.fields.values(name).first else { continue }
      var target = URIReference(value).percentEncodingIllegalCharacters.resolved(against: base)
      target.fragment = nil
      if HTTPOrigin(target) == origin, !urls.contains(target.text) { urls.append(target.text) }
    }
    return .invalidate(urls)
  }
}
