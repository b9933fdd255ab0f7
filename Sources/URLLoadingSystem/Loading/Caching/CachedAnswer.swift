import Foundation
import HTTPSemantics
import NIOCore

/// Answers a load from a stored response. Confined to the load's event loop.
enum CachedAnswer {
  /// - Parameter beginning: The first bytes of a body in a file, which were read already.
  static func response(
    _ item: CacheItem, _ answer: StoredAnswer, beginningWith beginning: ByteBuffer? = nil, _ run: PipelineRun
  ) -> LoadedResponse {
    let context = run.context
    context.loop.assertInEventLoop()
    let head = CachedHead.head(item.head, answer, now: CachingHop.now)
    let response = HTTPURLResponse(url: run.request.urlRequest.url, head: head)
    let record = context.makeRecord(of: run, .localCache)
    if let record {
      record.response = response
      context.transactions.append(record)
    }
    let body = LoadBody(source(item, answer, beginning, record, run), in: context)
    return LoadedResponse(
      response: response, head: head, body: body, record: record, isDecoded: item.head.isDecoded, isStored: true)
  }

  /// RFC 9111 §5.2.1.7.
  static func gatewayTimeout(_ run: PipelineRun) -> LoadedResponse {
    let head = CachedHead.gatewayTimeout
    let response = HTTPURLResponse(url: run.request.urlRequest.url, head: head)
    let record = run.context.makeRecord(of: run, .localCache)
    if let record {
      record.response = response
      record.fetchEnd = .now()
      run.context.transactions.append(record)
    }
    return LoadedResponse(
      response: response, head: head, body: LoadBody(BufferedBody(nil), in: run.context), record: record,
      isStored: true)
  }

  /// The stored bytes that the answer has, the end not included.
  static func range(_ item: CacheItem, _ answer: StoredAnswer, _ run: PipelineRun) -> (start: Int64, end: Int64) {
    let length = item.head.bodyLength
    switch answer {
    case .whole: return (0, run.request.urlRequest.httpMethod == "HEAD" ? 0 : length)
    case .notModified: return (0, 0)
    case .part(let first, let last, _):
      let base = item.head.part?.first ?? 0
      return (max(0, first - base), min(length, last - base + 1))
    }
  }

  private static func source(
    _ item: CacheItem, _ answer: StoredAnswer, _ beginning: ByteBuffer?, _ record: TransactionRecord?,
    _ run: PipelineRun
  ) -> any BodySource {
    let (start, end) = range(item, answer, run)
    switch item.body {
    case .bytes(let bytes):
      let slice = bytes.getSlice(at: bytes.readerIndex + Int(start), length: max(0, Int(end - start)))
      record?.responseBodyBytesAfterDecoding = Int64(slice?.readableBytes ?? 0)
      record?.fetchEnd = .now()
      return BufferedBody(slice)
    case .file(let file):
      let cache = run.caching?.cache
      let reader = CacheFileReader(
        file, from: start, to: end, beginningWith: beginning, record: record, in: run.context
      ) { cache?.discard(item.id) }
      return AwaitedBody(reader, on: run.context.executor)
    }
  }
}
