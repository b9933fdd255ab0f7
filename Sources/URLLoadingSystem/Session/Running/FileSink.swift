import Foundation
import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Writes a body to a temporary file. Confined to the load's event loop, except for the writes themselves, which run on
/// threads of a pool.
///
/// Chunks are gathered to batches of 1 MiB, and two batches may be on their way to the disk while the next one is
/// filled: network and disk work at the same time and memory stays flat. Each batch knows its place in the file, so
/// that the batches need not be written in order.
final class FileSink: LoadSink, @unchecked Sendable {
  private static let batchSize = 1024 * 1024
  private static let maximumPieces = 256
  private static let maximumBatchesUnderWay = 2

  private let task: URLSessionTask
  private let delivery: TaskDelivery?
  private let loop: any EventLoop
  private let file: OpenFile
  private var batch: [ByteBuffer] = []
  private var batchBytes = 0
  private var offset: Int64 = 0
  private var underWay = 0
  private var failure: (any Error)?
  private var writtenBytes: Int64 = 0
  private var waiter: CheckedContinuation<Void, Never>?

  private init(task: URLSessionTask, delivery: TaskDelivery?, loop: any EventLoop, file: OpenFile) {
    self.task = task
    self.delivery = delivery
    self.loop = loop
    self.file = file
  }

  /// - Parameter delivery: Who hears of bytes written; nil for nobody.
  static func make(
    for task: URLSessionTask, telling delivery: TaskDelivery?, on loop: any EventLoop
  ) async throws -> FileSink {
    let file = try await NIOThreadPool.singleton.runIfActive(eventLoop: loop) { () throws -> OpenFile in
      let (descriptor, url) = try TemporaryFile.create()
      return OpenFile(descriptor: descriptor, url: url)
    }.get()
    return FileSink(task: task, delivery: delivery, loop: loop, file: file)
  }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws {
    if let failure { throw failure }
    batch.append(chunk)
    batchBytes += chunk.readableBytes
    if batchBytes >= FileSink.batchSize || batch.count >= FileSink.maximumPieces {
      write()
      await settle(underWayAtMost: FileSink.maximumBatchesUnderWay, in: context)
      if let failure { throw failure }
    }
  }

  func finish(in context: LoadContext) async throws -> Received {
    if !batch.isEmpty { write() }
    await settle(underWayAtMost: 0, in: context)
    if let failure { throw failure }
    return .file(file.url)
  }

  func abandon() async {
    batch = []
    let file = self.file
    try? await NIOThreadPool.singleton.runIfActive(eventLoop: loop) { TemporaryFile.remove(file.url) }.get()
  }

  private func write() {
    let (pieces, bytes, place) = (batch, batchBytes, offset)
    batch = []
    batchBytes = 0
    offset += Int64(bytes)
    underWay += 1
    let file = self.file
    NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try file.write(pieces, at: place) }.whenComplete {
      self.written(bytes, $0)
    }
  }

  private func written(_ bytes: Int, _ result: Result<Void, any Error>) {
    underWay -= 1
    switch result {
    case .failure(let error): failure = failure ?? error
    case .success:
      if let download = task as? URLSessionDownloadTask, failure == nil {
        writtenBytes += Int64(bytes)
        delivery?.didWrite(
          download, bytes: Int64(bytes), total: writtenBytes, expected: task.countOfBytesExpectedToReceive)
      }
    }
    let waiter = waiter
    self.waiter = nil
    waiter?.resume()
  }

  /// The disk is not idle time of the network's.
  private func settle(underWayAtMost limit: Int, in context: LoadContext) async {
    guard underWay > limit else { return }
    await context.control.whileClientHoldsLoad {
      while underWay > limit { await withCheckedContinuation { waiter = $0 } }
    }
  }
}

extension FileSink {
  /// Takes the first `count` bytes away, which have been written.
  fileprivate static func drop(_ count: Int, from vectors: inout ArraySlice<iovec>) {
    var count = count
    while let first = vectors.first, first.iov_len <= count {
      count -= first.iov_len
      vectors.removeFirst()
    }
    guard count > 0, let first = vectors.first else { return }
    vectors[vectors.startIndex] = iovec(iov_base: first.iov_base + count, iov_len: first.iov_len - count)
  }
}

/// A file being written, closed when the last write is over.
private final class OpenFile: Sendable {
  let url: URL
  private let descriptor: Int32

  init(descriptor: Int32, url: URL) {
    self.descriptor = descriptor
    self.url = url
  }

  deinit { close(descriptor) }

  /// Writes all of `pieces` one after the other from `offset` on. Blocks.
  func write(_ pieces: [ByteBuffer], at offset: Int64) throws {
    // The addresses stay good as long as `pieces` is not released.
    var vectors = pieces.map { piece in
      piece.withUnsafeReadableBytesWithStorageManagement { bytes, _ in
        iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      }
    }[...]
    var place = offset
    try withExtendedLifetime(pieces) {
      while !vectors.isEmpty {
        let count = vectors.withUnsafeBufferPointer {
          pwritev(descriptor, $0.baseAddress, Int32($0.count), off_t(place))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure() }
        place += Int64(count)
        FileSink.drop(count, from: &vectors)
      }
    }
  }

  private func failure() -> URLError {
    let reason = String(cString: strerror(errno))
    return ErrorMapping.make(
      .cannotWriteToFile, because: "The download could not be written to \(url.path): \(reason).")
  }
}
