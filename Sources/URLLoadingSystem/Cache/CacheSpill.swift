import Dispatch
import HTTPSemantics
import NIOCore
import Synchronization

/// A body on its way into a file, from a load's event loop to the queue of a disk cache.
final class CacheSpill: @unchecked Sendable {
  let id: Int64
  private let disk: DiskCache
  /// Bytes that the queue has not written yet.
  private let backlog = Atomic(0)
  // Confined to the disk cache's queue, which the methods that use it assert.
  private var writer: CacheFileWriter?

  /// A disk that is slower than the network by more than this gets no copy: the load does not wait for it.
  private static let largestBacklog = 8 * 1024 * 1024

  init(_ id: Int64, on disk: DiskCache) {
    self.id = id
    self.disk = disk
    disk.queue.async { self.begin() }
  }

  private func begin() {
    dispatchPrecondition(condition: .onQueue(disk.queue))
    // The folder is there once the database is.
    guard disk.withDatabase({ _ in true }) == true else { return }
    writer = try? CacheFileWriter(disk.path(ofBody: id), on: disk.queue)
  }

  /// False when the disk is too far behind.
  func append(_ bytes: ByteBuffer) -> Bool {
    let waiting = backlog.add(bytes.readableBytes, ordering: .relaxed).newValue
    guard waiting <= CacheSpill.largestBacklog else { return false }
    disk.queue.async { self.write(bytes) }
    return true
  }

  private func write(_ bytes: ByteBuffer) {
    dispatchPrecondition(condition: .onQueue(disk.queue))
    backlog.subtract(bytes.readableBytes, ordering: .relaxed)
    do { try writer?.write(bytes) } catch { abandonNow() }
  }

  /// Puts the item into the index, once all is written.
  func commit(_ item: CacheItem, for fields: HTTPFields) {
    disk.queue.async { [self] in
      guard let written = try? writer?.finish(), written.length == item.head.bodyLength else { return abandonNow() }
      writer = nil
      disk.insert(item, digests: written.digests, body: nil, for: fields)
    }
  }

  func abandon() { disk.queue.async { self.abandonNow() } }

  private func abandonNow() {
    dispatchPrecondition(condition: .onQueue(disk.queue))
    writer?.abandon()
    writer = nil
  }
}
