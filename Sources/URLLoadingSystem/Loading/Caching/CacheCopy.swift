import NIOCore

/// Copies a body into the cache while it is pulled. Confined to the load's event loop.
final class CacheCopy: BodyFilter {
  private let writer: CacheWriter
  /// The length that the fields announce; nil for none.
  private let expected: Int64?
  /// The fetch that ends with the copy; nil for none.
  private let fetch: SharedFetch?
  private let completion: (CacheWriter.Collected) -> Void

  /// - Parameter completion: Called when the whole body has passed, and is not too long.
  init(
    _ writer: CacheWriter, expecting expected: Int64?, for fetch: SharedFetch? = nil,
    _ completion: @escaping (CacheWriter.Collected) -> Void
  ) {
    self.writer = writer
    self.expected = expected
    self.fetch = fetch
    self.completion = completion
  }

  func take(from input: () throws -> BodyPart) throws -> BodyPart {
    writer.loop.assertInEventLoop()
    let part: BodyPart
    do { part = try input() } catch {
      writer.abandon()
      fetch?.end()
      throw error
    }
    switch part {
    case .bytes(let bytes):
      writer.append(bytes)
      if writer.isAbandoned { fetch?.end(isUseful: false) }
    case .end:
      defer { fetch?.end() }
      // RFC 9111 §3.3: what came incomplete is not stored.
      guard let collected = writer.finish() else { break }
      if expected ?? collected.length == collected.length {
        completion(collected)
      } else if case .file(let spill, _) = collected {
        spill.abandon()
      }
    case .pending, .busy: break
    }
    return part
  }
}
