import HTTPSemantics

/// A cache of heads, a clock and a server in one: requests are played through the rules. The body of a response is the
/// number of the request that it answered.
struct CacheScript {
  /// One request, and the response that the server has for it. A field value `@n` stands for a date, n seconds from the
  /// moment of the response.
  struct Step: Sendable {
    var method = "GET"
    var path = "/"
    var request: HTTPFields = [:]
    var usage = CacheUsage.protocolRules
    var status = 200
    var response: HTTPFields = [:]
    /// Whether the server answers a condition of the cache with 304.
    var confirms = false
    /// Whether the server can't be reached.
    var isOffline = false
    /// Seconds after the response.
    var pause: Int64 = 0
  }

  enum Result: Equatable {
    case cached
    case fetched
    case validated(HTTPFields)
    case revalidating
    /// The server confirms another response than the stored one.
    case contradicted
    case completed
    case failed
    case timeout
  }

  struct Answer {
    var result: Result
    var head: HTTPResponseHead
    var body: Int
  }

  private var now: Int64 = 1_700_000_000
  private var entries: [(head: StoredHead, body: Int)] = []
  private var requests = 0

  var count: Int { entries.count }

  static func play(_ steps: [Step]) -> [Answer] {
    var script = CacheScript()
    return steps.map { script.play($0) }
  }

  mutating func play(_ step: Step) -> Answer {
    defer { now += step.pause }
    let url = "http://example.com" + step.path
    let request = CacheRequest(method: step.method, fields: step.request, usage: step.usage)
    let indices = entries.indices.filter { entries[$0].head.url == url }
    let stored = indices.map { entries[$0].head }
    func cached(_ index: Int, _ answer: StoredAnswer, _ result: Result) -> Answer {
      Answer(
        result: result, head: CachedHead.head(stored[index], answer, now: now), body: entries[indices[index]].body)
    }
    switch CacheDecision.decide(request, stored: stored, now: now) {
    case .use(let index, let answer): return cached(index, answer, .cached)
    case .useWhileRevalidating(let index, let answer, _): return cached(index, answer, .revalidating)
    case .validate(let index, let fields):
      guard step.confirms else { return fetch(step, request, indices, .fetched, fallback: index) }
      let answer = fetch(step, request, indices, .validated(fields), validated: index)
      return answer
    case .complete: return fetch(step, request, indices, .completed)
    case .fetch: return fetch(step, request, indices, .fetched)
    case .fail: return Answer(result: .failed, head: HTTPResponseHead(status: 0), body: 0)
    case .gatewayTimeout: return Answer(result: .timeout, head: CachedHead.gatewayTimeout, body: 0)
    }
  }

  private mutating func fetch(
    _ step: Step, _ request: CacheRequest, _ indices: [Int], _ result: Result, validated: Int? = nil,
    fallback: Int? = nil
  ) -> Answer {
    requests += 1
    let url = "http://example.com" + step.path
    let stored = indices.map { entries[$0].head }
    if step.isOffline || CachedHead.isReplaceable(step.status), let fallback,
      CachedHead.mayReplaceError(stored[fallback], for: request, now: now)
    {
      return Answer(
        result: .cached, head: CachedHead.head(stored[fallback], .whole, now: now),
        body: entries[indices[fallback]].body)
    }
    if step.isOffline { return Answer(result: .failed, head: HTTPResponseHead(status: 0), body: 0) }
    var head = HTTPResponseHead(status: validated == nil ? step.status : 304, fields: step.response)
    for (index, field) in head.fields.fields.enumerated() where field.value.hasPrefix("@") {
      head.fields.fields[index].value = HTTPDate.format(now + (Int64(field.value.dropFirst()) ?? 0))
    }
    let exchange = StoreDecision.Exchange(request: request, url: url, head: head, requestTime: now, responseTime: now)
    var answer = Answer(result: result, head: head, body: requests)
    switch StoreDecision.decide(exchange, stored: stored, validated: validated) {
    case .store(let entry, let replaced):
      remove(replaced.map { indices[$0] })
      entries.append((entry, requests))
    case .extend(let index, let head): entries[indices[index]].head = head
    case .update(let updated, let heads):
      for (index, head) in zip(updated, heads) { entries[indices[index]].head = head }
    case .invalidate(let urls): entries.removeAll { urls.contains($0.head.url) }
    case .remove(let removed): remove(removed.map { indices[$0] })
    case .refetch(let index):
      remove([indices[index]])
      answer.result = .contradicted
    case .nothing: break
    }
    if let validated, answer.result != .contradicted, indices[validated] < entries.count {
      answer.head = CachedHead.head(entries[indices[validated]].head, .whole, now: now)
      answer.body = entries[indices[validated]].body
    }
    return answer
  }

  private mutating func remove(_ indices: [Int]) {
    let removed = Set(indices)
    entries = entries.indices.filter { !removed.contains($0) }.map { entries[$0] }
  }
}
