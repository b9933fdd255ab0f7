import Foundation
import HTTPTransport
import NIOCore

/// An open connection of a stream task: does what the task is asked, side by side or in turn as `StreamSchedule` says.
/// Confined to the load's event loop.
final class StreamConversation: @unchecked Sendable {
  /// How it ended without an error.
  enum End {
    /// Both sides are closed.
    case closed
    /// The connection was handed over; these bytes of it were read already.
    case captured(unread: ByteBuffer)
  }

  /// An event of the connection that the delegate is told of.
  enum Notice { case readClosed, writeClosed }

  private let task: URLSessionStreamTask
  private let stream: any DuplexStream
  private let context: LoadContext
  /// Makes the connection secure.
  private let secure: () async throws -> Void
  private let tell: (Notice) -> Void
  private var operations: StreamOperations { task.operations }

  private var schedule = StreamSchedule()
  /// Read from the connection and not yet by the app.
  private var unread = ByteBuffer()
  private var inputHasEnded = false
  private var readIsClosed = false
  private var writeIsClosed = false
  private var hasToldReadClosed = false
  private var readFailure: (any Error)?
  private var writeFailure: (any Error)?

  private var outcome: Result<End, any Error>?
  private var waiter: UnsafeContinuation<End, any Error>?

  init(
    task: URLSessionStreamTask, stream: any DuplexStream, context: LoadContext,
    secure: @escaping () async throws -> Void,
    tell: @escaping (Notice) -> Void
  ) {
    self.task = task
    self.stream = stream
    self.context = context
    self.secure = secure
    self.tell = tell
  }

  /// Returns when there is nothing left to do; throws what else ended it.
  func run() async throws -> End {
    let loop = context.loop
    loop.assertInEventLoop()
    let onLoop: @Sendable (@escaping @Sendable (StreamConversation) -> Void) -> Void = { [weak self] action in
      if loop.inEventLoop {
        self.map(action)
      } else {
        loop.execute { [weak self] in self.map(action) }
      }
    }
    operations.open { onLoop { $0.wake() } }
    stream.whenInputEnds { onLoop { $0.tellReadClosed() } }
    wake()
    do {
      return try await context.control.abortable(onAbort: { self.end(.failure($0)) }) {
        if let outcome = self.outcome { return try outcome.get() }
        return try await withUnsafeThrowingContinuation { self.waiter = $0 }
      }
    } catch {
      stream.close()
      throw error
    }
  }

  private func end(_ outcome: Result<End, any Error>) {
    context.loop.assertInEventLoop()
    guard self.outcome == nil else { return }
    self.outcome = outcome
    let waiter = self.waiter
    self.waiter = nil
    waiter?.resume(with: outcome)
  }

  private func wake() {
    context.loop.assertInEventLoop()
    for operation in operations.takeNew() { schedule.add(operation) }
    failWhatCannotBegin()
    begin()
  }

  private func begin() {
    while outcome == nil, let operation = schedule.next() {
      Task(executorPreference: context.executor) {
        await self.perform(operation)
        self.schedule.ended(operation.side)
        if self.readIsClosed && self.writeIsClosed {
          self.stream.end(sending: nil, patience: .seconds(3))
          self.end(.success(.closed))
        }
        self.begin()
      }
    }
    guard outcome != nil else { return }
    // The task's end fails them, with its own error.
    while let operation = schedule.drain() { operations.put(back: operation) }
  }

  /// An operation that took too long keeps its side until it ends; those behind it fail at once.
  private func failWhatCannotBegin() {
    if let readFailure { for read in schedule.take(.reading) { operations.fail(read, readFailure) } }
    if let writeFailure { for write in schedule.take(.writing) { operations.fail(write, writeFailure) } }
  }

  private func perform(_ operation: StreamOperation) async {
    context.loop.assertInEventLoop()
    do {
      try await context.control.passGate()
      switch operation {
      case .read(let min, let max, let timeout, let waiter): try await read(min, max, timeout, waiter)
      case .write(let data, let timeout, let waiter): try await write(data, timeout, waiter)
      case .closeRead: closeRead()
      case .closeWrite: try await closeWrite()
      case .startSecureConnection:
        guard unread.readableBytes == 0 else {
          throw ErrorMapping.make(
            .secureConnectionFailed,
            because: "The server sent bytes before the TLS handshake that were not read.")
        }
        try await secure()
      case .captureStreams:
        if let failure = readFailure ?? writeFailure { throw failure }
        end(.success(.captured(unread: unread)))
      }
    } catch { fail(operation, error) }
  }

  /// A connection that fails ends the task, and with it everything.
  private func fail(_ operation: StreamOperation, _ error: any Error) {
    var reason = error
    // The task is over, which has closed the connection.
    if case .failure(let earlier)? = outcome { reason = earlier }
    let cause = ErrorMapping.urlError(reason, url: nil)
    operations.fail(operation, cause)
    end(.failure(cause))
  }

  // MARK: Reading

  private func read(
    _ least: Int, _ most: Int, _ timeout: TimeInterval, _ waiter: TaskWaiter<(Data?, Bool)>
  ) async throws {
    guard most > 0 else { return answer(waiter, .failure(POSIXError(.EINVAL))) }
    if let readFailure { return answer(waiter, .failure(readFailure)) }
    guard !readIsClosed || inputHasEnded else { return answer(waiter, .failure(POSIXError(.ENOTCONN))) }
    let least = min(max(1, least), most)
    let limit = TimeLimit(timeout, on: context.loop) { [self] in
      let error = ErrorMapping.make(.timedOut, because: "The read took longer than its time-out.")
      readFailure = error
      answer(waiter, .failure(error))
      failWhatCannotBegin()
    }
    defer { limit.cancel() }
    while unread.readableBytes < least, !inputHasEnded {
      let bytes: ByteBuffer?
      do { bytes = try await stream.read() } catch { if limit.hasPassed { return } else { throw error } }
      if var bytes { unread.writeBuffer(&bytes) } else { inputEnded() }
      if limit.hasPassed { return }
    }
    let count = min(unread.readableBytes, most)
    let data = unread.readSlice(length: count).map { $0.withUnsafeReadableBytes { Data($0) } }
    if unread.readableBytes == 0 { unread = ByteBuffer() }
    task.bytesReceived.add(Int64(count), ordering: .relaxed)
    task.countersChanged()
    answer(waiter, .success((count > 0 ? data : nil, inputHasEnded && unread.readableBytes == 0)))
  }

  private func answer<Value: Sendable>(_ waiter: TaskWaiter<Value>, _ result: Result<Value, any Error>) {
    waiter.answer(result, on: operations.lane)
  }

  private func inputEnded() {
    inputHasEnded = true
    readIsClosed = true
    tellReadClosed()
  }

  private func closeRead() {
    readIsClosed = true
    unread = ByteBuffer()
    tellReadClosed()
  }

  private func tellReadClosed() {
    context.loop.assertInEventLoop()
    guard !hasToldReadClosed, outcome == nil else { return }
    hasToldReadClosed = true
    tell(.readClosed)
  }

  // MARK: Writing

  private func write(_ data: Data, _ timeout: TimeInterval, _ waiter: TaskWaiter<Void>) async throws {
    if let writeFailure { return answer(waiter, .failure(writeFailure)) }
    guard !writeIsClosed else { return answer(waiter, .failure(POSIXError(.EPIPE))) }
    let limit = TimeLimit(timeout, on: context.loop) { [self] in
      let error = ErrorMapping.make(.timedOut, because: "The write took longer than its time-out.")
      writeFailure = error
      answer(waiter, .failure(error))
      failWhatCannotBegin()
    }
    defer { limit.cancel() }
    do { try await stream.write(ByteBuffer(bytes: data)) } catch { if limit.hasPassed { return } else { throw error } }
    guard !limit.hasPassed else { return }
    task.bytesSent.add(Int64(data.count), ordering: .relaxed)
    task.countersChanged()
    answer(waiter, .success(()))
  }

  private func closeWrite() async throws {
    guard !writeIsClosed else { return }
    writeIsClosed = true
    if writeFailure == nil { try await stream.closeWrite() }
    tell(.writeClosed)
  }
}

/// The time that one read or write may take. Confined to its loop.
private final class TimeLimit: @unchecked Sendable {
  private let loop: any EventLoop
  private var isOver = false
  private var scheduled: Scheduled<Void>?

  var hasPassed: Bool {
    loop.assertInEventLoop()
    return isOver
  }

  /// - Parameter seconds: 0, or nothing sensible, for no limit.
  init(_ seconds: TimeInterval, on loop: any EventLoop, _ action: @escaping () -> Void) {
    self.loop = loop
    guard seconds > 0, seconds.isFinite else { return }
    let time = TimeAmount.nanoseconds(Int64(min(seconds, 1e9) * 1e9))
    scheduled = loop.assumeIsolated().scheduleTask(in: time) {
      self.isOver = true
      action()
    }
  }

  func cancel() {
    loop.assertInEventLoop()
    scheduled?.cancel()
  }
}
