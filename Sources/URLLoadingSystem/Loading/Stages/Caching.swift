import Foundation
import HTTPSemantics
import NIOCore

/// Answers from the session's cache, and stores in it (RFC 9111).
///
/// `CacheDecision` and `StoreDecision` decide what may be answered and stored. The stage stands inside the
/// decoding of contents: what is stored is the representation as it came. A response in memory answers at once; for one
/// on disk the load waits without a Swift task.
struct Caching: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    let isWithoutCache = run.caching.map { $0.completed != nil || $0.isContradicted } ?? false
    run.caching = nil
    // If what is stored turned out to be of no use, the request goes out as the app made it.
    guard !isWithoutCache, let cache = run.context.configuration.cache.cache, run.context.upgrade == nil,
      let target = run.httpTarget
    else { return .proceed }
    let hop = CachingHop(cache, target, of: run)
    run.caching = hop
    guard hop.isPlain else { return hop.request.isAnswerable ? askSubclass(hop, run) : .proceed }
    return look(hop, run)
  }

  private func look(_ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    let cache = hop.cache
    let (items, moment, disk) = cache.look(hop.key)
    hop.items = items.filter(\.isHTTP)
    hop.moment = moment
    guard let disk else { return decide(hop, run) }
    // A response in memory that answers makes a look at the disk needless. So does one that the origin is asked about, where the
    // rows of its key were seen and no other process has stored anything since.
    let decision = hop.decide()
    switch decision {
    case .use: return act(on: decision, hop, run)
    case .validate where !cache.mayHaveNews(of: hop.key, disk): return act(on: decision, hop, run)
    default: break
    }
    return .pending(
      CacheLookup(disk, hop.key, on: run.context.executor) { found in
        hop.items = cache.join(hop.items, found.filter(\.isHTTP))
        return decide(hop, run)
      })
  }

  private func askSubclass(_ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    guard let task = run.context.client.cachingTask else { return decide(hop, run) }
    return .wait {
      let (cache, key) = (hop.cache, hop.key)
      let found = try await CacheSubclass.find(in: cache, for: task, context: run.context)
      if let found, let item = CacheItem(loaded: found, for: run.request.urlRequest, key: key), item.isHTTP {
        hop.items = [item]
      }
      return decide(hop, run)
    }
  }

  private func decide(_ hop: CachingHop, _ run: PipelineRun) -> LoadStep { act(on: hop.decide(), hop, run) }

  private func act(on decision: CacheDecision, _ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    switch decision {
    case .use(let index, let answer): return use(hop.items[index], answer, hop, run) { decide(hop, run) }
    case .useWhileRevalidating(let index, let answer, let fields):
      guard hop.isPlain else { return validate(hop.items[index], fields, hop, run) }
      BackgroundValidation.begin(run, hop)
      return use(hop.items[index], answer, hop, run) { decide(hop, run) }
    case .validate(let index, let fields):
      return share(hop, run) ?? validate(hop.items[index], fields, hop, run)
    case .complete(let index, let fields):
      guard hop.items[index].bytes != nil, run.context.client.storesResponses else { return .proceed }
      hop.completed = (hop.items[index], run.fields)
      add(fields, to: run)
      // A part of a coded body could not be put together with the stored one.
      run.fields["Accept-Encoding"] = "identity"
      return .proceed
    case .fetch: return share(hop, run) ?? .proceed
    case .fail:
      return .fail(ErrorMapping.urlError(ErrorMapping.nothingStored, url: run.request.urlRequest.url))
    case .gatewayTimeout: return .answer(CachedAnswer.gatewayTimeout(run))
    }
  }

  /// RFC 9111 §4: a request that the response to another one could answer waits for it, for a while. nil where the load
  /// fetches.
  private func share(_ hop: CachingHop, _ run: PipelineRun) -> LoadStep? {
    guard hop.mayShare, !run.request.hasBody else { return nil }
    let (context, client) = (run.context, run.context.client)
    let mayLead = client.storesResponses && !client.loadMayChangeStoredResponse(context)
    switch hop.cache.fetches.part(for: hop.key, mayLead: mayLead) {
    case .alone: return nil
    case .lead(let fetch):
      hop.fetch = fetch
      return nil
    case .follow(let fetch):
      let limit = Caching.longestWait(for: fetch, run)
      let left = hop.waitEnd.map { $0 - NIODeadline.now() } ?? limit
      hop.waitEnd = hop.waitEnd ?? .now() + limit
      guard left > .zero else { return nil }
      let wait = FetchWait(
        for: fetch, atMost: left, on: context.executor,
        isAnswered: { [request = hop.request] in CachingHop.isAnswered(request, by: $0) }
      ) {
        hop.restart()
        return look(hop, run)
      }
      return wait.map { .pending($0) }
    }
  }

  /// A fetch that takes longer, or whose app takes its bytes slowly, keeps no other load waiting.
  private static func longestWait(for fetch: SharedFetch, _ run: PipelineRun) -> TimeAmount {
    let timeouts = [run.context.configuration.timeoutIntervalForRequest, run.request.urlRequest.timeoutInterval]
    let longest = fetch.waitLimits.whole
    guard let limit = timeouts.filter({ $0 > 0 }).map({ $0 / 2 }).min(), limit < 3600 else { return longest }
    return min(longest, .milliseconds(Int64(limit * 1_000)))
  }

  /// Answers from an item.
  /// - Parameter otherwise: The step where the body in a file turns out to be damaged. The item is gone then.
  private func use(
    _ item: CacheItem, _ answer: StoredAnswer, _ hop: CachingHop, _ run: PipelineRun,
    otherwise: @escaping () -> LoadStep
  ) -> LoadStep {
    guard case .file = item.body else {
      if hop.isPlain { hop.cache.use(item, foundAt: hop.moment) }
      return .answer(CachedAnswer.response(item, answer, run))
    }
    return .wait { try await open(item, answer, hop, run).map { .answer($0) } ?? otherwise() }
  }

  /// Reads the first bytes of a body in a file, which must be awaited in any case: nothing of a body that begins damaged is
  /// given out. nil for one.
  private func open(
    _ item: CacheItem, _ answer: StoredAnswer, _ hop: CachingHop, _ run: PipelineRun
  ) async throws -> LoadedResponse? {
    var beginning: ByteBuffer?
    let (start, end) = CachedAnswer.range(item, answer, run)
    if case .file(let file) = item.body, start < end {
      do { beginning = try await run.context.loop.blocking { try file.read(from: start, to: end) } } catch is CacheFile
        .Damage
      {
        hop.discard(item)
        return nil
      }
    }
    if hop.isPlain { hop.cache.use(item, foundAt: hop.moment) }
    return CachedAnswer.response(item, answer, beginningWith: beginning, run)
  }

  private func validate(_ item: CacheItem, _ fields: HTTPFields, _ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    hop.validated = item
    add(fields, to: run)
    return .proceed
  }

  private func add(_ fields: HTTPFields, to run: PipelineRun) {
    for field in fields.fields { run.fields[field.name] = field.value }
  }

  // MARK: With the answer of the network

  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.caching, let head = response.head else { return .proceed }
    if hop.items.isEmpty, !run.context.client.storesResponses, HTTPMethod.isSafe(hop.request.method) { return .proceed }
    if hop.completed != nil { return didReceiveRest(response, head, hop, run) }
    if CachedHead.isReplaceable(head.status), let item = hop.replacementOfError() {
      return .wait {
        hop.tellOthers(nil)
        guard let answer = try await open(item, .whole, hop, run) else { return .proceed }
        await response.body.drain()
        return .answer(answer)
      }
    }
    let index = hop.validated.flatMap { validated in hop.items.firstIndex { $0.id == validated.id } }
    let decision = StoreDecision.decide(
      exchange(head, hop), stored: hop.items.map(\.head), validated: head.status == 304 ? index : nil)
    let client = run.context.client
    switch decision {
    case .nothing: hop.tellOthers(nil)
    case .invalidate(let urls): hop.invalidate(urls)
    case .remove:
      hop.removeMatching(for: client.cachingTask)
      hop.tellOthers(nil)
    case .refetch:
      hop.removeMatching(for: client.cachingTask)
      hop.tellOthers(nil)
      finishEmpty(response)
      hop.isContradicted = true
      run.fields = hop.request.fields
      return .again
    case .update(let indices, let heads):
      hop.update(indices, heads, for: client.cachingTask)
      hop.tellOthers(heads.first)
      hop.fetch?.end()
    case .store(let entry, _):
      // RFC 9111 §4.4: also where the answer to a POST itself is not stored in the end.
      if !HTTPMethod.isSafe(hop.request.method) { hop.invalidate([hop.key.url]) }
      if client.storesResponses { return store(response, entry, after: nil, hop, run) }
    case .extend(let index, let whole):
      if client.storesResponses, let bytes = beginning(of: hop.items[index], before: head) {
        return store(response, whole, after: bytes, hop, run)
      }
    }
    guard head.status == 304, let index else { return .proceed }
    finishEmpty(response)
    return use(hop.items[index], .whole, hop, run) {
      // Without what it confirms, the answer is of no use: the request goes out as the app made it.
      run.fields = hop.request.fields
      return .again
    }
  }

  /// Takes the end of an empty body, so that the connection can serve the next request.
  private func finishEmpty(_ response: LoadedResponse) {
    _ = try? response.body.takePart()
    response.body.finish()
  }

  private func exchange(_ head: HTTPResponseHead, _ hop: CachingHop) -> StoreDecision.Exchange {
    StoreDecision.Exchange(
      request: hop.request, url: hop.key.url, head: head, requestTime: hop.requestTime, responseTime: CachingHop.now)
  }

  private func store(
    _ response: LoadedResponse, _ entry: StoredHead, after beginning: ByteBuffer?, _ hop: CachingHop, _ run: PipelineRun
  ) -> LoadStep {
    let body = CacheStoring(hop: hop, context: run.context).body(of: response, as: entry, after: beginning)
    return .answer(response.changed(body: body))
  }

  /// The stored bytes that come before those of a 206.
  private func beginning(of item: CacheItem, before head: HTTPResponseHead) -> ByteBuffer? {
    guard let bytes = item.bytes, let part = item.head.part,
      case .part(let first, _, _)? = head.fields["Content-Range"].flatMap({ ContentRange(parsing: $0) })
    else { return nil }
    return bytes.getSlice(at: bytes.readerIndex, length: Int(first - part.first))
  }

  /// RFC 9111 §3.4: the stored beginning and the rest make the whole. Anything else than the rest of the same
  /// representation is no answer to a request for the whole, so that one is sent then.
  private func didReceiveRest(
    _ response: LoadedResponse, _ head: HTTPResponseHead, _ hop: CachingHop, _ run: PipelineRun
  ) -> LoadStep {
    guard let (item, fields) = hop.completed else { return .proceed }
    guard head.status == 206 || head.status == 416 else {
      hop.completed = nil
      return didReceive(response, run)
    }
    let decision = StoreDecision.decide(exchange(head, hop), stored: hop.items.map(\.head))
    guard case .extend(let index, let whole) = decision, whole.part == nil, hop.items[index].id == item.id,
      let bytes = beginning(of: item, before: head)
    else {
      run.fields = fields
      return .wait {
        await response.body.drain()
        return .again
      }
    }
    let body = CacheStoring(hop: hop, context: run.context).body(of: response, as: whole, after: bytes)
    response.body.add(StoredBeginning(bytes, on: run.context.loop))
    let wholeHead = CachedHead.head(whole, .whole, now: CachingHop.now)
    let answer = HTTPURLResponse(url: run.request.urlRequest.url, head: wholeHead)
    response.record?.response = answer
    return .answer(response.changed(response: answer, head: wholeHead, body: body))
  }

  // MARK: Without an answer

  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.caching else { return .proceed }
    // The others would wait in turn for the same error.
    hop.fetch?.end(isUseful: false)
    // RFC 5861 §4 speaks of servers and networks in trouble. A peer that is not believed, or an app that refuses, is none.
    guard !ErrorMapping.isRefusal(error), let item = hop.replacementOfError() else { return .proceed }
    return use(item, .whole, hop, run) { .fail(error) }
  }
}
