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
    let wasCompleting = run.caching?.completed != nil
    run.caching = nil
    // If the stored beginning turned out to be of no use, the request goes out as the app made it.
    guard !wasCompleting, let cache = run.context.configuration.cache.cache, run.context.upgrade == nil,
      let target = run.httpTarget
    else { return .proceed }
    let hop = CachingHop(cache, target, of: run)
    run.caching = hop
    guard hop.isPlain else { return hop.request.isAnswerable ? askSubclass(hop, run) : .proceed }
    guard !cache.isKnownEmpty else { return decide(hop, run) }
    let (items, disk) = cache.look(hop.key)
    hop.items = items.filter(\.isHTTP)
    guard let disk else { return decide(hop, run) }
    // A response in memory that answers makes a look at the disk needless.
    if case .use = hop.decide() { return decide(hop, run) }
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
      let found = try await SubclassLookup.find(in: cache, for: task, control: run.context.control)
      if let found, let item = CacheItem(loaded: found, for: run.request.urlRequest, key: key), item.isHTTP {
        hop.items = [item]
      }
      return decide(hop, run)
    }
  }

  private func decide(_ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    switch hop.decide() {
    case .use(let index, let answer): return use(hop.items[index], answer, hop, run)
    case .useWhileRevalidating(let index, let answer, let fields):
      guard hop.isPlain else { return validate(hop.items[index], fields, hop, run) }
      BackgroundValidation.begin(run, hop)
      return use(hop.items[index], answer, hop, run)
    case .validate(let index, let fields): return validate(hop.items[index], fields, hop, run)
    case .complete(let index, let fields):
      guard hop.items[index].bytes != nil, run.context.client.storesResponses else { return .proceed }
      hop.completed = (hop.items[index], run.fields)
      add(fields, to: run)
      // A part of a coded body could not be put together with the stored one.
      run.fields["Accept-Encoding"] = "identity"
      return .proceed
    case .fetch: return .proceed
    case .fail:
      return .fail(ErrorMapping.urlError(ErrorMapping.nothingStored, url: run.request.urlRequest.url))
    case .gatewayTimeout: return .answer(CachedAnswer.gatewayTimeout(run))
    }
  }

  private func use(_ item: CacheItem, _ answer: StoredAnswer, _ hop: CachingHop, _ run: PipelineRun) -> LoadStep {
    if hop.isPlain { hop.cache.use(item) }
    return .answer(CachedAnswer.response(item, answer, run))
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
        await response.body.drain()
        return use(item, .whole, hop, run)
      }
    }
    let index = hop.validated.flatMap { validated in hop.items.firstIndex { $0.id == validated.id } }
    let decision = StoreDecision.decide(
      exchange(head, hop), stored: hop.items.map(\.head), validated: head.status == 304 ? index : nil)
    let client = run.context.client
    switch decision {
    case .nothing: break
    case .invalidate(let urls): hop.invalidate(urls)
    case .remove: hop.removeMatching(for: client.cachingTask)
    case .update(let indices, let heads): hop.update(indices, heads, for: client.cachingTask)
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
    // The end of the empty body is taken, so that the connection can serve the next request.
    _ = try? response.body.takePart()
    response.body.finish()
    return use(hop.items[index], .whole, hop, run)
  }

  private func exchange(_ head: HTTPResponseHead, _ hop: CachingHop) -> StoreDecision.Exchange {
    StoreDecision.Exchange(
      request: hop.request, url: hop.key.url, head: head, requestTime: hop.requestTime, responseTime: CachingHop.now)
  }

  private func store(
    _ response: LoadedResponse, _ entry: StoredHead, after beginning: ByteBuffer?, _ hop: CachingHop, _ run: PipelineRun
  ) -> LoadStep {
    var response = response
    response.body = CacheStoring(hop: hop, context: run.context).body(of: response, as: entry, after: beginning)
    return .answer(response)
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
    var answer = response
    answer.body = CacheStoring(hop: hop, context: run.context).body(of: response, as: whole, after: bytes)
    response.body.add(StoredBeginning(bytes))
    let wholeHead = CachedHead.head(whole, .whole, now: CachingHop.now)
    answer.head = wholeHead
    answer.response = HTTPURLResponse(url: run.request.urlRequest.url, head: wholeHead)
    answer.record?.response = answer.response
    return .answer(answer)
  }

  // MARK: Without an answer

  func didFail(_ error: any Error, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.caching, let item = hop.replacementOfError() else { return .proceed }
    return use(item, .whole, hop, run)
  }
}
