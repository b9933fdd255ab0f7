import Foundation
import HTTPTransport
import NIOCore
import NIOPosix

/// Writes a body to a temporary file of the app. Confined to the load's event loop, except for the writes themselves,
/// which run on threads of a pool.
///
/// Chunks are gathered to batches of 512 KiB, and two batches may be on their way to the disk while the next one is
/// filled: network and disk work at the same time and memory stays flat. Each batch knows its place in the file, so
/// that the batches need not be written in order. Nothing is synced: the file does not outlive a crash of the machine.
final class FileSink: DownloadDestination, @unchecked Sendable {
  private static let batchSize = 512 * 1024
  private static let maximumPieces = 256
  private static let maximumBatchesUnderWay = 2

  let file: DownloadFile
  private let control: LoadControl
  private let loop: any EventLoop
  /// Told of bytes that are written, and of how many have been in all.
  private let wrote: ((_ bytes: Int64, _ total: Int64) -> Void)?
  private var batch = PieceBatch()
  /// The offset of the next batch.
  private var offset: Int64
  private var underWay = 0
  private var failure: (any Error)?
  /// The first place that could not be written.
  private var failedPlace: Int64?
  private var writtenBytes: Int64
  private var waiter: CheckedContinuation<Void, Never>?

  /// - Parameter offset: How many bytes the file holds already.
  init(
    _ file: DownloadFile, at offset: Int64, in context: LoadContext,
    wrote: ((_ bytes: Int64, _ total: Int64) -> Void)? = nil
  ) {
    self.file = file
    control = context.control
    loop = context.loop
    self.offset = offset
    writtenBytes = offset
    self.wrote = wrote
  }

  var received: Int64 { offset + Int64(batch.count) }

  func begin(_ representation: DownloadRepresentation) async throws { loop.assertInEventLoop() }

  func write(_ chunk: ByteBuffer) async throws {
    loop.assertInEventLoop()
    if let failure { throw failure }
    batch.append(chunk)
    guard batch.count >= FileSink.batchSize || batch.pieces.count >= FileSink.maximumPieces else { return }
    writeBatch()
    await settle(underWayAtMost: FileSink.maximumBatchesUnderWay)
    if let failure { throw failure }
  }

  func reset() async throws {
    loop.assertInEventLoop()
    guard received > 0 else { return }
    batch = PieceBatch()
    await settle(underWayAtMost: 0)
    let file = self.file
    try await loop.blocking { try file.truncate(to: 0) }
    offset = 0
    writtenBytes = 0
    failure = nil
    failedPlace = nil
  }

  func finish() async throws {
    loop.assertInEventLoop()
    if !batch.isEmpty { writeBatch() }
    await settle(underWayAtMost: 0)
    if let failure { throw failure }
  }

  func sha256() async throws -> Data {
    loop.assertInEventLoop()
    try await finish()
    let (path, end) = (file.url.path, offset)
    var digest = StreamedDigest()
    while digest.count < end {
      let before = digest
      digest = try await control.whileClientHoldsLoad {
        try await loop.blocking {
          do { return try before.addingSlice(ofFileAt: path, upTo: end) } catch let error as StreamedDigest.Failure {
            throw ErrorMapping.make(
              .cannotOpenFile, because: "The download could not be read: \(String(cString: strerror(error.code))).")
          }
        }
      }
      try control.check()
    }
    return digest.value
  }

  func salvage() async -> Int64 {
    loop.assertInEventLoop()
    if failure == nil, !batch.isEmpty { writeBatch() }
    await settle(underWayAtMost: 0)
    let count = min(failedPlace ?? offset, offset)
    let file = self.file
    do {
      try await loop.blocking { try file.truncate(to: count) }
      return count
    } catch { return 0 }
  }

  func abandon() async {
    loop.assertInEventLoop()
    batch = PieceBatch()
    let file = self.file
    try? await loop.blocking { TemporaryFile.remove(file.url) }
  }

  private func writeBatch() {
    let (bytes, place) = (batch.count, offset)
    let pieces = batch.take()
    offset += Int64(bytes)
    underWay += 1
    let file = self.file
    NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try file.write(pieces, at: place) }.whenComplete {
      self.written(bytes, at: place, $0)
    }
  }

  private func written(_ bytes: Int, at place: Int64, _ result: Result<Void, any Error>) {
    loop.assertInEventLoop()
    underWay -= 1
    switch result {
    case .failure(let error):
      failure = failure ?? error
      failedPlace = min(failedPlace ?? place, place)
    case .success:
      if failure == nil {
        writtenBytes += Int64(bytes)
        wrote?(Int64(bytes), writtenBytes)
      }
    }
    let waiter = waiter
    self.waiter = nil
    waiter?.resume()
  }

  /// Time that the disk takes is no idle time of the network.
  private func settle(underWayAtMost limit: Int) async {
    guard underWay > limit else { return }
    await control.whileClientHoldsLoad {
      while underWay > limit { await withCheckedContinuation { waiter = $0 } }
    }
  }
}

extension FileSink: LoadSink {
  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws { try await write(chunk) }

  func finish(in context: LoadContext) async throws -> Received {
    try await finish()
    return .file(file.url)
  }
}
