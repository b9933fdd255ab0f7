import DequeModule
import Foundation
import NIOCore
import Synchronization

/// The queue between a load and the iterator of its bytes. The load appends chunks and waits while too many are
/// unread; the iterator takes them one by one and waits while there are none.
final class AsyncBytesFeed: Sendable {
  private struct State {
    var chunks: Deque<ByteBuffer> = []
    var reader: UnsafeContinuation<ByteBuffer?, any Error>?
    var end: Result<Void, URLError>?
    var head: UnsafeContinuation<URLResponse, any Error>?
  }

  let flow = ByteFlow(limit: 1024 * 1024)
  private let state: Mutex<State>

  /// - Parameter head: Who waits for the response.
  init(head: UnsafeContinuation<URLResponse, any Error>) { state = Mutex(State(head: head)) }

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
      if state.reader == nil {
        // Small chunks are gathered: each would keep a receive buffer many times its size.
        if chunk.readableBytes < 4096, let last = state.chunks.indices.last, state.chunks[last].readableBytes < 16_384 {
          state.chunks[last].writeImmutableBuffer(chunk)
        } else {
          state.chunks.append(chunk)
        }
      }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: chunk)
    return mustWait
  }

  func end(error: URLError?) {
    let (head, reader) = state.withLock { state in
      state.end = error.map { .failure($0) } ?? .success(())
      defer { (state.head, state.reader) = (nil, nil) }
      return (state.head, state.reader)
    }
    if let error {
      head?.resume(throwing: error)
      reader?.resume(throwing: error)
    } else {
      head?.resume(throwing: URLError(.badServerResponse))
      reader?.resume(returning: nil)
    }
  }

  // MARK: The iterator's side

  /// The next chunk, nil at the end. Throws what ended the load early, after the bytes that came before.
  func next() async throws -> ByteBuffer? {
    let chunk = try await withUnsafeThrowingContinuation { reader in
      let answer = state.withLock { state -> Result<ByteBuffer?, any Error>? in
        if let chunk = state.chunks.popFirst() { return .success(chunk) }
        switch state.end {
        case .success: return .success(nil)
        case .failure(let error): return .failure(error)
        case nil: break
        }
        // Two iterators must not be used at once; the one that waited longer gets nothing more.
        let earlier = state.reader
        state.reader = reader
        earlier?.resume(returning: nil)
        return nil
      }
      if let answer { reader.resume(with: answer) }
    }
    if let chunk { flow.remove(chunk.readableBytes) }
    return chunk
  }
}
