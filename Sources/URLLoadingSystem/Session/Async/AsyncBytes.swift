import Foundation
import NIOCore

extension URLSession {
  /// Loads `request` and returns as soon as the response is there; its body is then pulled byte by byte.
  ///
  /// No response or data message goes to a delegate. Not pulling holds the transfer back; dropping the iterator, as
  /// leaving the loop early does, cancels it, and so does dropping bytes that are not iterated over.
  /// - Throws: A `URLError` when no response came.
  public func bytes(
    for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (AsyncBytes, URLResponse) {
    let task = makeCallDataTask(request, delegate: delegate)
    let feed = AsyncBytesFeed()
    let holder = AsyncBytesHolder(task, feed)
    let response = try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { head in
        feed.expectResponse(head)
        task.start(for: .bytes(feed))
      }
    } onCancel: {
      task.cancel()
    }
    return (AsyncBytes(holder: holder), response)
  }

  /// Loads `url` and returns as soon as the response is there; its body is then pulled byte by byte.
  /// - Throws: A `URLError` when no response came.
  public func bytes(
    from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (AsyncBytes, URLResponse) {
    try await bytes(for: URLRequest(url: url), delegate: delegate)
  }

  /// The body of a response, byte by byte. It can be gone through once: the transfer ends with its iterator.
  ///
  /// A byte costs about a nanosecond in a `nonisolated` function. On an actor the compiler has the runtime check at
  /// every byte where it is, which takes twenty times as long: parse large bodies off the main actor.
  public struct AsyncBytes: AsyncSequence, Sendable {
    public typealias Element = UInt8

    let holder: AsyncBytesHolder

    /// The task that brings the bytes: to cancel it, watch its progress or set its priority.
    public var task: URLSessionDataTask { holder.task }

    public func makeAsyncIterator() -> Iterator { Iterator(source: AsyncBytesReading(holder)) }

    /// Reads from the chunk it holds and waits only between chunks.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      @usableFromInline var chunk: ByteChunk
      private let source: AsyncBytesReading

      init(source: AsyncBytesReading) {
        self.source = source
        chunk = ByteChunk()
      }

      /// The next byte; nil at the end of the body.
      /// - Throws: A `URLError` when the transfer failed, after the bytes that came before.
      @inlinable
      public mutating func next() async throws -> UInt8? {
        if let byte = chunk.next() { return byte }
        return try await nextAfterRefill()
      }

      /// As `next()`, on the caller's actor.
      @inlinable
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
        if let byte = chunk.next() { return byte }
        return try await nextAfterRefill()
      }

      @usableFromInline
      mutating func nextAfterRefill() async throws -> UInt8? {
        guard let buffer = try await source.holder.next() else {
          chunk = ByteChunk()
          return nil
        }
        chunk = ByteChunk(buffer)
        return chunk.next()
      }
    }
  }
}

/// Ties an iterator, with its copies, to the transfer, which ends when the last copy is gone.
final class AsyncBytesReading: Sendable {
  let holder: AsyncBytesHolder

  init(_ holder: AsyncBytesHolder) { self.holder = holder }

  // No effect on a task that has ended.
  deinit { holder.task.cancel() }
}

/// Ties the bytes of a response to their task: cancels it when neither the sequence nor an iterator is left.
final class AsyncBytesHolder: Sendable {
  let task: URLSessionDataTask
  private let feed: AsyncBytesFeed

  init(_ task: URLSessionDataTask, _ feed: AsyncBytesFeed) {
    self.task = task
    self.feed = feed
  }

  deinit { task.cancel() }

  func next() async throws -> ByteBuffer? {
    let task = self.task
    // A Swift task that was cancelled gets nothing that is buffered.
    guard !Task.isCancelled else {
      task.cancel()
      throw ErrorMapping.urlError(CancellationError(), url: task.presentRequest?.url)
    }
    return try await withTaskCancellationHandler {
      try await feed.next()
    } onCancel: {
      task.cancel()
    }
  }
}

/// Bytes in memory, taken one after the other. Keeps the memory for as long as it points there.
@usableFromInline
struct ByteChunk: @unchecked Sendable {
  // Sendable by hand, and nothing to assert: `owner` is the storage of a buffer, which is copied before it is changed
  // while a reference to it is held here.
  @usableFromInline var position: UnsafeRawPointer
  @usableFromInline var end: UnsafeRawPointer
  private let owner: AnyObject?

  private nonisolated(unsafe) static let nowhere = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  init() {
    (position, end) = (ByteChunk.nowhere, ByteChunk.nowhere)
    owner = nil
  }

  init(_ buffer: ByteBuffer) {
    (position, end, owner) = buffer.withUnsafeReadableBytesWithStorageManagement { bytes, storage in
      let start = bytes.baseAddress.map { UnsafeRawPointer($0) } ?? ByteChunk.nowhere
      return (start, start + bytes.count, storage.takeUnretainedValue())
    }
  }

  @inlinable
  mutating func next() -> UInt8? {
    guard position != end else { return nil }
    let byte = position.load(as: UInt8.self)
    position += 1
    return byte
  }
}
