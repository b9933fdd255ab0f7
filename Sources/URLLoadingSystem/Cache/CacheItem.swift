import Foundation
import HTTPSemantics
import NIOCore

/// A stored response with its body, in memory or on disk.
struct CacheItem: Sendable {
  enum Body: Sendable {
    case bytes(ByteBuffer)
    case file(CacheFile)
  }

  /// The same in memory and on disk. Never used again for other bytes.
  let id: Int64
  /// Its status is 0 when the response did not come by HTTP; the body is then an archive of all.
  var head: StoredHead
  var body: Body
  var userInfo: AppDictionary?
  var policy = URLCache.StoragePolicy.allowed
  /// When it was stored.
  var stored: Date
  /// The object that the app stored; nil for responses that a load has stored.
  var object: CachedURLResponse?

  init(id: Int64 = .random(in: 1 ... .max), head: StoredHead, body: Body, stored: Date) {
    self.id = id
    self.head = head
    self.body = body
    self.stored = stored
  }

  var isHTTP: Bool { head.head.status > 0 }

  /// The bytes of the body where they are in memory.
  var bytes: ByteBuffer? {
    if case .bytes(let bytes) = body { bytes } else { nil }
  }

  /// The body, the header fields and a little for what holds them.
  var cost: Int {
    let fields = head.head.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    return Int(head.bodyLength) + 256 + fields + head.url.utf8.count
  }
}
