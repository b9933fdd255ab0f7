/// The head of an answer that a cache gives (RFC 9111 §4).
package enum CachedHead {
  package static func head(_ stored: StoredHead, _ answer: StoredAnswer, now: Int64) -> HTTPResponseHead {
    var head = stored.head
    // RFC 9111 §5.1.
    head.fields["Age"] = String(Freshness.age(of: stored, now: now))
    switch answer {
    case .whole: break
    case .part(let first, let last, let total):
      head.status = 206
      head.reason = "Partial Content"
      head.fields["Content-Range"] = "bytes \(first)-\(last)/\(total.map { String($0) } ?? "*")"
      head.fields["Content-Length"] = String(last - first + 1)
    case .notModified:
      head.status = 304
      head.reason = "Not Modified"
      // RFC 9110 §15.4.5: what describes the body that is not sent stays out.
      for name in ["Content-Length", "Content-Encoding", "Content-Range", "Content-Type"] { head.fields.remove(name) }
    }
    return head
  }

  /// RFC 9111 §5.2.1.7.
  package static let gatewayTimeout = HTTPResponseHead(
    status: 504, reason: "Gateway Timeout", fields: ["Content-Length": "0"])

  /// The stored response that stands in for an error: the one that was selected for the request (RFC 9111 §4.1), or none.
  package static func replacementOfError(
    among stored: [StoredHead], for request: CacheRequest, now: Int64
  ) -> Int? {
    CacheDecision.select(request, stored).flatMap { mayReplaceError(stored[$0], for: request, now: now) ? $0 : nil }
  }

  /// RFC 5861 §4, with the directive of the request or the response: whether a stored response stands in for an error.
  package static func mayReplaceError(_ stored: StoredHead, for request: CacheRequest, now: Int64) -> Bool {
    let control = CacheControl(stored.head.fields)
    guard request.method == "GET", !request.hasCondition, request.usage == .protocolRules, stored.part == nil,
      // RFC 9111 §5.2.2.2 and §5.2.2.4.
      !control.mustRevalidate, !control.noCache, !request.control.noCache,
      stored.credentialMark == request.credentialMark, stored.selecting.match(request.fields),
      let window = [control.staleIfError, request.control.staleIfError].compactMap({ $0?.count }).max()
    else { return false }
    return Freshness(stored, control, now: now).staleness < window
  }

  package static func isReplaceable(_ status: Int) -> Bool { CacheableStatus.isServerError(status) }
}
