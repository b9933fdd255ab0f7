import Foundation
import HTTPTransport
import NIOCore
import NIOPosix
import SystemServices
import URLLoadingSystem

/// Puts arriving bytes into the partial file: on the threads of a pool, in batches of half a MiB, of which one is being
/// written while the loop fills the next.
///
/// Every 4 MiB or second a checkpoint runs beside the writing: the file is synced, *then* the offset is committed.
/// Writing waits when 8 MiB are not committed, or when the last commit was 2 s ago and the next is under way, so a
/// crash loses no more than that. Where no more bytes come, a timer begins the checkpoint 2 s after the last one; there is none
/// while all bytes are committed.
/// Confined to its event loop.
final class PartialFileWriter: @unchecked Sendable {
  private let file: any DurableFile
  private let pool: NIOThreadPool
  private let loop: any EventLoop
  /// Runs on the pool once the bytes up to the offset are on the disk; told whether it is the first time.
  typealias Commit = @Sendable (Int64, Bool) throws -> Void
  private let commit: Commit
  private var hasCommitted = false

  private var pending = PieceBatch()
  /// The offset of the next write to the file.
  private var submitted: Int64
  private var writing: EventLoopFuture<Void>?
  /// The checkpoint that is under way, or that failed; nil once its offset counts.
  private var checkpoint: EventLoopFuture<Void>?
  private var checkpointFailure: (any Error)?
  private(set) var committed: Int64
  private var lastCheckpoint: NIODeadline
  private let time: Time
  /// Cancels the timer that is set; nil where none is.
  private var cancelTimer: (() -> Void)?
  /// Calls that are under way. The timer leaves the bytes to them.
  private var calls = 0
  private var isClosed = false
  private var isFileClosed = false
  /// Calls of `commitSoon` whose bytes are not committed.
  private var awaited: [(offset: Int64, ended: () -> Void)] = []

  static let writeSize = 1 << 19
  static let maximumPieces = 256
  static let checkpointDistance: Int64 = 4 << 20
  static let maximumUncommitted: Int64 = 8 << 20
  static let checkpointInterval = TimeAmount.seconds(1)
  static let maximumAge = TimeAmount.seconds(2)

  /// The age of bytes is told by it. Tests have one of their own.
  struct Time {
    let now: () -> NIODeadline
    /// Runs the closure on the loop after that time, and returns what keeps it from that.
    let schedule: (TimeAmount, @escaping @Sendable () -> Void) -> () -> Void

    static func of(_ loop: any EventLoop) -> Time {
      Time(now: { .now() }) { delay, action in
        let scheduled = loop.scheduleTask(in: delay, action)
        return { scheduled.cancel() }
      }
    }
  }

  init(
    file: any DurableFile, offset: Int64, pool: NIOThreadPool, loop: any EventLoop, time: Time? = nil,
    commit: @escaping Commit
  ) {
    self.file = file
    self.pool = pool
    self.loop = loop
    self.time = time ?? .of(loop)
    self.commit = commit
    lastCheckpoint = self.time.now()
    submitted = offset
    committed = offset
  }

  /// Whether no byte of the file is committed or being committed.
  var isUncounted: Bool {
    loop.assertInEventLoop()
    return committed == 0 && checkpoint == nil
  }

  /// Bytes taken over so far, those from before included.
  var received: Int64 {
    loop.assertInEventLoop()
    return submitted + Int64(pending.count)
  }

  /// Takes bytes over. Suspends while the disk is behind; throws when an earlier write failed.
  func write(_ bytes: ByteBuffer) async throws {
    loop.assertInEventLoop()
    if let checkpointFailure { throw checkpointFailure }
    calls += 1
    defer {
      callEnded()
    }
    pending.append(bytes)
    let age = time.now() - lastCheckpoint
    let isFull = pending.count >= Self.writeSize || pending.pieces.count >= Self.maximumPieces
    if isFull || age >= Self.checkpointInterval { try await submit() }
    if submitted - committed >= Self.checkpointDistance || age >= Self.checkpointInterval {
      // One at a time; the next begins with a write that finds this one over.
      if checkpoint == nil { try await beginCheckpoint() }
    }
    if received - committed >= Self.maximumUncommitted || time.now() - lastCheckpoint >= Self.maximumAge {
      try await endCheckpoint()
    }
  }

  /// Returns when everything taken over is on the disk and committed.
  ///
  /// - Parameter last: commits the whole, in place of the usual commit, and also where that has been made.
  func flush(last: Commit? = nil) async throws {
    loop.assertInEventLoop()
    calls += 1
    defer {
      callEnded()
    }
    try await submit()
    try await settle()
    try await endCheckpoint()
    guard submitted > committed || last != nil else { return }
    try await beginCheckpoint(last)
    try await endCheckpoint()
  }

  /// Has everything taken over on the disk, closes the file, and does what follows: all in one turn of the pool, of which a small
  /// file has few. Nothing is committed. `close` has to follow in any case.
  func end(_ work: @escaping @Sendable () throws -> Void) async throws {
    loop.assertInEventLoop()
    calls += 1
    defer { calls -= 1 }
    try await settle()
    try await endCheckpoint()
    let (write, file) = (takePending(), self.file)
    let closed = pool.runIfActive(eventLoop: loop) { () -> Result<Void, any Error> in
      try write()
      try file.sync()
      return Result {
        try file.close()
        try work()
      }
    }
    // After a failure every later call fails as well.
    let ended = closed.flatMapThrowing { result in
      (self.isFileClosed, self.isClosed) = (true, true)
      try result.get()
    }
    writing = ended
    try await ended.get()
    writing = nil
  }

  /// Waits for what is under way and closes the file. Bytes not yet flushed may be lost. Call it in any case.
  func close() async {
    loop.assertInEventLoop()
    isClosed = true
    cancelTimer?()
    cancelTimer = nil
    try? await settle()
    try? await endCheckpoint()
    endAwaited()
    guard !isFileClosed else { return }
    let file = self.file
    try? await loop.blocking(on: pool) { try file.close() }
  }

  /// Commits what was taken over as soon as that can be, without waiting for more bytes or for time to pass.
  ///
  /// - Parameter ended: called once, on the loop: when it is committed or can't be, or the file is closed.
  func commitSoon(_ ended: @escaping () -> Void) {
    loop.assertInEventLoop()
    awaited.append((received, ended))
    endAwaited()
    beginAwaited()
  }

  /// Calls back to those whose bytes are committed, or never will be.
  private func endAwaited() {
    let isOver = isClosed || checkpointFailure != nil
    let over = awaited.filter { isOver || $0.offset <= committed }
    awaited.removeAll { isOver || $0.offset <= committed }
    for call in over { call.ended() }
  }

  /// The end of a call or of a checkpoint that is under way does it otherwise.
  private func beginAwaited() {
    guard !awaited.isEmpty, calls == 0, checkpoint == nil, !isClosed, checkpointFailure == nil else { return }
    beginCheckpointWithoutCall()
  }

  private func callEnded() {
    calls -= 1
    beginAwaited()
    setTimer()
  }

  private func submit() async throws {
    try await settle()
    guard !pending.isEmpty else { return }
    writing = pool.runIfActive(eventLoop: loop, takePending())
  }

  /// The writing of the bytes that are pending, which count as submitted from now on.
  private func takePending() -> @Sendable () throws -> Void {
    let (count, start, file) = (pending.count, submitted, self.file)
    let pieces = pending.take()
    submitted += Int64(count)
    return {
      var offset = start
      for piece in pieces {
        try piece.withUnsafeReadableBytes { try file.write($0, at: offset) }
        offset += Int64(piece.readableBytes)
      }
    }
  }

  private func settle() async throws {
    guard let writing else { return }
    try await writing.get()
    // Only now: after a failure every later call fails as well.
    self.writing = nil
  }

  private func beginCheckpoint(_ last: Commit? = nil) async throws {
    try await settle()
    guard checkpoint == nil, submitted > committed || last != nil else { return }
    checkpoint(after: loop.makeSucceededVoidFuture(), last)
  }

  private func checkpoint(after written: EventLoopFuture<Void>, _ last: Commit? = nil) {
    let (offset, file, commit, isFirst) = (submitted, self.file, last ?? self.commit, !hasCommitted)
    let (pool, loop) = (self.pool, self.loop)
    let future = written.flatMap {
      pool.runIfActive(eventLoop: loop) {
        try file.sync()
        try commit(offset, isFirst)
      }
    }
    // Before a call that waits for it goes on.
    future.whenFailure {
      self.checkpointFailure = $0
      self.endAwaited()
    }
    checkpoint = future.map { self.checkpointEnded(at: offset) }
    lastCheckpoint = time.now()
  }

  private func checkpointEnded(at offset: Int64) {
    committed = offset
    hasCommitted = true
    checkpoint = nil
    endAwaited()
    beginAwaited()
    setTimer()
  }

  // MARK: Bytes after which none come

  /// Sets the timer where it is not set and bytes are not committed.
  private func setTimer() {
    guard cancelTimer == nil, !isClosed, checkpointFailure == nil, received > committed else { return }
    let rest = lastCheckpoint + Self.maximumAge - time.now()
    cancelTimer = time.schedule(max(rest, .milliseconds(1))) { [weak self] in self?.timerFired() }
  }

  /// Begins the checkpoint that the next bytes would begin. Where a call or a checkpoint is under way, its end sets the timer
  /// again.
  private func timerFired() {
    loop.assertInEventLoop()
    cancelTimer = nil
    guard calls == 0, checkpoint == nil else { return }
    guard time.now() - lastCheckpoint >= Self.maximumAge else { return setTimer() }
    guard !isClosed, checkpointFailure == nil, received > committed else { return }
    beginCheckpointWithoutCall()
  }

  private func beginCheckpointWithoutCall() {
    // No call is under way that waits for the one before.
    let (earlier, pool, loop) = (writing ?? self.loop.makeSucceededVoidFuture(), self.pool, self.loop)
    let write = takePending()
    let written = earlier.flatMap { pool.runIfActive(eventLoop: loop, write) }
    writing = written
    checkpoint(after: written)
  }

  /// Waits for the checkpoint under way. After a failure every later call fails as well.
  private func endCheckpoint() async throws { try await checkpoint?.get() }
}
