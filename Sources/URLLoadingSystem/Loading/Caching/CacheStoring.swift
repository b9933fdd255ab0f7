import Foundation
import HTTPSemantics
import NIOCore

/// Stores a response whose head has come, once its body has passed. Confined to the load's event loop.
struct CacheStoring {
  let hop: CachingHop
  let context: LoadContext

  /// The body of `response` with a copy that is taken on the way; the same body where it is too long to be stored.
  ///
  /// - Parameter beginning: The stored bytes before those of the response; nil for none.
  func body(of response: LoadedResponse, as head: StoredHead, after beginning: ByteBuffer? = nil) -> LoadBody {
    context.loop.assertInEventLoop()
    let asksClient = context.client.loadMayChangeStoredResponse(context)
    let cache = hop.cache
    var limits = cache.limits
    // An app is shown the body as a whole.
    if asksClient || !hop.isPlain { limits.largestInMemory = limits.largestBody }
    let expected = response.head?.fields.contentLength
    let announced = (expected ?? 0) + Int64(beginning?.readableBytes ?? 0)
    guard announced <= limits.largestBody, limits.largestBody > 0 else {
      // The stored response is older than the one that the app gets.
      hop.removeMatching(for: context.client.cachingTask)
      hop.tellOthers(nil)
      return response.body
    }
    let writer = CacheWriter(limits: limits, disk: hop.isPlain ? cache.disk : nil, on: context.loop)
    if let beginning { writer.append(beginning) }
    let length = expected.map { $0 + Int64(beginning?.readableBytes ?? 0) } ?? head.part?.length
    let fields = hop.request.fields
    hop.tellOthers(announced > SharedFetch.largestBody ? nil : head)
    guard asksClient || !hop.isPlain else {
      response.body.add(
        CacheCopy(writer, expecting: length, for: hop.fetch) { collected in
          cache.store(collected, as: item(writer.id, head, collected), for: fields)
        })
      return response.body
    }
    let box = Box()
    response.body.add(CacheCopy(writer, expecting: length) { box.collected = $0 })
    return LoadBody(
      QuestionedBody(response.body, on: context.executor) {
        guard let collected = box.collected else { return }
        await ask(item(writer.id, head, collected), asksClient)
      }, in: context)
  }

  private final class Box {
    var collected: CacheWriter.Collected?
  }

  private func item(_ id: Int64, _ head: StoredHead, _ collected: CacheWriter.Collected) -> CacheItem {
    var head = head
    head.bodyLength = collected.length
    let bytes: ByteBuffer
    if case .bytes(let collected) = collected { bytes = collected } else { bytes = ByteBuffer() }
    return CacheItem(id: id, head: head, body: .bytes(bytes), stored: Date())
  }

  /// Shows the client what is to be stored, and stores what it answers.
  private func ask(_ item: CacheItem, _ asksClient: Bool) async {
    context.loop.assertInEventLoop()
    guard let proposal = await proposal(item) else { return }
    let answer: CachedURLResponse?
    if asksClient {
      answer = (try? await context.client.load(context, willStore: proposal)) ?? nil
    } else {
      answer = proposal
    }
    guard let answer, answer.storagePolicy != .notAllowed else { return }
    guard hop.isPlain else {
      guard let task = context.client.cachingTask else { return }
      let kept = answer.loadedHead == nil ? changed(item, by: answer)?.response ?? answer : answer
      return await CacheSubclass.store(kept, in: hop.cache, as: .task(task), context: context)
    }
    guard let stored = answer === proposal ? item : changed(item, by: answer), let bytes = stored.bytes else { return }
    hop.cache.store(.bytes(bytes), as: stored, for: hop.request.fields)
  }

  /// The item as the app sees it. A coded body is decoded away from the loop.
  private func proposal(_ item: CacheItem) async -> CachedURLResponse? {
    guard !item.head.isDecoded, !ContentCodings(fields: item.head.head.fields).isIdentity else { return item.response }
    return (try? await context.loop.blocking { item.response }) ?? nil
  }

  /// The item with the response, the body and the rest that the app wants stored.
  private func changed(_ item: CacheItem, by answer: CachedURLResponse) -> CacheItem? {
    var head = item.head
    if let response = answer.response as? HTTPURLResponse { head.head = Freshening.storedHead(response.head) }
    head.bodyLength = Int64(answer.data.count)
    if head.head.fields.contains("Content-Length") { head.head.fields["Content-Length"] = String(answer.data.count) }
    head.isDecoded = !ContentCodings(fields: head.head.fields).isIdentity
    var changed = CacheItem(
      id: item.id, head: head, body: .bytes(ByteBuffer(bytes: answer.data)), stored: item.stored)
    changed.userInfo = answer.userInfo.map { AppDictionary($0) }
    changed.policy = answer.storagePolicy
    return changed
  }
}
