import Foundation
import NIOCore
import NIOPosix
import SystemServices

/// Puts arriving bytes into the partial file: on the threads of a pool, in large writes, with at most a few MiB on the
/// way, while the loop reads on.
///
/// Every 4 MiB or second a checkpoint runs beside the writing: the file is synced, *then* the offset is committed.
/// Writing waits when 8 MiB are not committed, or when the last commit was 2 s ago and the next is under way, so a
/// crash loses no more than that.
/// Confined to its event loop.
final class PartialFileWriter: @unchecked Sendable {
  private let file: any DurableFile
  private let pool: NIOThreadPool
  private let loop: any EventLoop
  /// Runs on the pool once the bytes up to the offset are on the disk; told whether it is the first time.
  private let commit: @Sendable (Int64, Bool) throws -> Void
  private var hasCommitted = false

  private var pending: [ByteBuffer] = []
  private var pendingCount = 0
  /// Where the next write to the file goes.
  private var submitted: Int64
  private var writing: EventLoopFuture<Void>?
  private var checkpoint: (offset: Int64, future: EventLoopFuture<Void>)?
  private(set) var committed: Int64
  private var lastCheckpoint = NIODeadline.now()

  static let writeSize = 1 << 20
  static let checkpointDistance: Int64 = 4 << 20
  static let maximumUncommitted: Int64 = 8 << 20
  static let checkpointInterval = TimeAmount.seconds(1)
  static let maximumAge = TimeAmount.seconds(2)

  init(
    file: any DurableFile, offset: Int64, pool: NIOThreadPool, loop: any EventLoop,
    commit: @escaping @Sendable (Int64, Bool) throws -> Void
  ) {
    self.file = file
    self.pool = pool
    self.loop = loop
    self.commit = commit
    submitted = offset
    committed = offset
  }

  /// Bytes taken over so far, those from before included.
  var received: Int64 { submitted + Int64(pendingCount) }

  /// Takes bytes over. Suspends while the disk is behind; throws when an earlier write failed.
  func write(_ bytes: ByteBuffer) async throws {
    pending.append(bytes)
    pendingCount += bytes.readableBytes
    let age = NIODeadline.now() - lastCheckpoint
    if pendingCount >= Self.writeSize || age >= Self.checkpointInterval { try await submit() }
    if submitted - committed >= Self.checkpointDistance || age >= Self.checkpointInterval {
      try await beginCheckpoint()
    }
    if received - committed >= Self.maximumUncommitted || NIODeadline.now() - lastCheckpoint >= Self.maximumAge {
      try await endCheckpoint()
    }
  }

  /// Returns when everything taken over is on the disk and committed.
  func flush() async throws {
    try await submit()
    try await settle()
    try await endCheckpoint()
    guard submitted > committed else { return }
    try await beginCheckpoint()
    try await endCheckpoint()
  }

  /// Waits for what is under way and closes the file. Bytes not yet flushed may be lost. Call it in any case.
  func close() async {
    try? await settle()
    if let checkpoint { _ = try? await checkpoint.future.get() }
    let file = self.file
    _ = try? await pool.runIfActive(eventLoop: loop) { try file.close() }.get()
  }

  private func submit() async throws {
    try await settle()
    guard pendingCount > 0 else { return }
    let (buffers, count, start) = (pending, pendingCount, submitted)
    pending = []
    pendingCount = 0
    let file = self.file
    writing = pool.runIfActive(eventLoop: loop) {
      var offset = start
      for buffer in buffers {
        try buffer.withUnsafeReadableBytes { try file.write($0, at: offset) }
        offset += Int64(buffer.readableBytes)
      }
    }
    submitted += Int64(count)
  }

  private func settle() async throws {
    guard let writing else { return }
    try await writing.get()
    // Only now: after a failure every later call fails as well.
    self.writing = nil
  }

  private func beginCheckpoint() async throws {
    if let checkpoint {
      // One at a time; the next begins when somebody asks after this one has ended.
      guard isOver(checkpoint.future) else { return }
      try await endCheckpoint()
    }
    try await settle()
    guard submitted > committed else { return }
    let (offset, file, commit, isFirst) = (submitted, self.file, self.commit, !hasCommitted)
    let future = pool.runIfActive(eventLoop: loop) {
      try file.sync()
      try commit(offset, isFirst)
    }
    let done = NIOLoopBound(CheckpointEnd(), eventLoop: loop)
    future.whenComplete { _ in done.value.isOver = true }
    end = done.value
    checkpoint = (offset, future)
    lastCheckpoint = .now()
  }

  private func endCheckpoint() async throws {
    guard let checkpoint else { return }
    try await checkpoint.future.get()
    committed = checkpoint.offset
    hasCommitted = true
    self.checkpoint = nil
  }

  private final class CheckpointEnd { var isOver = false }
  private var end: CheckpointEnd?

  private func isOver(_ future: EventLoopFuture<Void>) -> Bool { end?.isOver ?? true }
}
