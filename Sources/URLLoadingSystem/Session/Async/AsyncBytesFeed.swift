import Foundation
import NIOCore
import Synchronization

/// The queue between a load and the iterator of its bytes. The load appends chunks and waits while too many are
/// unread; the iterator takes them one by one and waits while there are none.
final class AsyncBytesFeed: Sendable {
  private struct State {
    var chunks = JoinedChunks()
    var reader: UnsafeContinuation<ByteBuffer?, any Error>?
    var head: UnsafeContinuation<URLResponse, any Error>?
    var end: Result<Void, any Error>?
    /// Called when the reader learns of the end.
    var onEnd: (@Sendable () -> Void)?
    /// Set when the task was cancelled: the reader gets no more bytes, but this.
    var cancellation: URLError?
  }

  let flow = ByteFlow(limit: 1024 * 1024)
  private let state = Mutex(State())

  /// Resumes `head` with the response, or with the error of a load that has none. Call it before the task starts.
  func expectResponse(_ head: UnsafeContinuation<URLResponse, any Error>) { state.withLock { $0.head = head } }

  // MARK: The load's side

  func begin(_ response: URLResponse) {
    let head = state.withLock { state in
      defer { state.head = nil }
      return state.head
    }
    head?.resume(returning: response)
  }

  /// Returns whether the load must wait in `flow.makeRoom` before it appends more.
  func append(_ chunk: ByteBuffer) -> Bool {
    let mustWait = flow.add(chunk.readableBytes)
    let reader = state.withLock { state -> UnsafeContinuation<ByteBuffer?, any Error>? in
      guard state.cancellation == nil else { return nil }
      if state.reader == nil { state.chunks.append(chunk) }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: chunk)
    return mustWait
  }

  /// The load is over. `onEnd` is called once, just before the reader learns of it, or when it reads no further.
  func end(error: (any Error)?, onEnd: @escaping @Sendable () -> Void) {
    let (head, reader, error, isRead) = state.withLock { state in
      let error = state.cancellation ?? error
      state.end = error.map { .failure($0) } ?? .success(())
      let isRead = state.head != nil || state.reader != nil || state.cancellation != nil
      if !isRead { state.onEnd = onEnd }
      defer { (state.head, state.reader) = (nil, nil) }
      return (state.head, state.reader, error, isRead)
    }
    if isRead { onEnd() }
    head?.resume(throwing: error ?? Self.noResponse)
    if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
  }

  private static var noResponse: URLError {
    ErrorMapping.make(.badServerResponse, because: "The load ended without a response.")
  }

  // MARK: Cancelling

  /// The task was cancelled: what waits is dropped, and the reader gets `error` once the load is over.
  func cancel(with error: URLError) {
    let onEnd = state.withLock { state -> (@Sendable () -> Void)? in
      state.cancellation = error
      state.chunks.removeAll()
      if state.onEnd != nil { state.end = .failure(error) }
      defer { state.onEnd = nil }
      return state.onEnd
    }
    flow.open()
    onEnd?()
  }

  // MARK: The iterator's side

  private enum Step {
    case chunk(ByteBuffer)
    case end(Result<Void, any Error>, onEnd: (@Sendable () -> Void)?)
    case wait(insteadOf: UnsafeContinuation<ByteBuffer?, any Error>?)
  }

  /// The next chunk, nil at the end. Throws what ended the load early, after the bytes that came before.
  func next() async throws -> ByteBuffer? {
    let chunk = try await withUnsafeThrowingContinuation { reader in
      switch step(reader) {
      case .chunk(let chunk): reader.resume(returning: chunk)
      case .end(let end, let onEnd):
        onEnd?()
        switch end {
        case .success: reader.resume(returning: nil)
        case .failure(let error): reader.resume(throwing: error)
        }
      // Two iterators must not be used at once; the one that waited longer gets nothing more.
      case .wait(let earlier): earlier?.resume(returning: nil)
      }
    }
    if let chunk { flow.remove(chunk.readableBytes) }
    return chunk
  }

  private func step(_ reader: UnsafeContinuation<ByteBuffer?, any Error>) -> Step {
    state.withLock { state in
      if let chunk = state.chunks.popFirst() { return .chunk(chunk) }
      if let end = state.end {
        defer { state.onEnd = nil }
        return .end(end, onEnd: state.onEnd)
      }
      defer { state.reader = reader }
      return .wait(insteadOf: state.reader)
    }
  }
}
