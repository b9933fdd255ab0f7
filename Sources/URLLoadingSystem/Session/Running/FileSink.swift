import Foundation
import NIOCore
import NIOPosix

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
  private let file: DownloadFile
  private var batch: [ByteBuffer] = []
  private var batchBytes = 0
  private var offset: Int64
  private var underWay = 0
  private var failure: (any Error)?
  /// The first place that could not be written.
  private var failedPlace: Int64?
  private var writtenBytes: Int64
  private var waiter: CheckedContinuation<Void, Never>?

  /// - Parameters:
  ///   - delivery: Who hears of bytes written; nil for nobody.
  ///   - offset: How many bytes the file holds already.
  init(
    _ file: DownloadFile, at offset: Int64, for task: URLSessionTask, telling delivery: TaskDelivery?,
    on loop: any EventLoop
  ) {
    self.task = task
    self.delivery = delivery
    self.loop = loop
    self.file = file
    self.offset = offset
    writtenBytes = offset
  }

  /// A sink with a new file.
  static func make(
    for task: URLSessionTask, telling delivery: TaskDelivery?, on loop: any EventLoop
  ) async throws -> FileSink {
    let file = try await NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try DownloadFile.create() }.get()
    return FileSink(file, at: 0, for: task, telling: delivery, on: loop)
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

  /// Writes what has been received, for a later download to go on with. Returns the file and how many bytes of it count.
  func keep(in context: LoadContext) async -> (file: DownloadFile, count: Int64)? {
    if failure == nil, !batch.isEmpty { write() }
    await settle(underWayAtMost: 0, in: context)
    let count = min(failedPlace ?? offset, offset)
    let file = self.file
    do {
      try await NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try file.truncate(to: count) }.get()
      return (file, count)
    } catch { return nil }
  }

  private func write() {
    let (pieces, bytes, place) = (batch, batchBytes, offset)
    batch = []
    batchBytes = 0
    offset += Int64(bytes)
    underWay += 1
    let file = self.file
    NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try file.write(pieces, at: place) }.whenComplete {
      self.written(bytes, at: place, $0)
    }
  }

  private func written(_ bytes: Int, at place: Int64, _ result: Result<Void, any Error>) {
    underWay -= 1
    switch result {
    case .failure(let error):
      failure = failure ?? error
      failedPlace = min(failedPlace ?? place, place)
    case .success:
      if let download = task as? URLSessionDownloadTask, failure == nil {
        writtenBytes += Int64(bytes)
        delivery?.didWrite(
          download, bytes: Int64(bytes), total: writtenBytes,
          expected: task.bytesExpectedToReceive.load(ordering: .relaxed))
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
