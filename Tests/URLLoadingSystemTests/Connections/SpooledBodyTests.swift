import Foundation
import HTTPTransport
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// A body stream that is read more than once.
@Suite struct SpooledBodyTests {
  private static let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 9) }

  private func read(_ stream: InputStream, upTo limit: Int = .max, piece: Int = 7_000) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: piece)
    while bytes.count < limit {
      let count = stream.read(&buffer, maxLength: min(piece, limit - bytes.count))
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  @Test(arguments: [0, 1, 6_999, 100_000, 200_000]) func eachReadingBeginsAtTheFirstByte(_ part: Int) {
    let body = SpooledBody(SendableInputStream(InputStream(data: Data(Self.content))))
    let first = SpooledBodyStream(body)
    first.open()
    #expect(read(first, upTo: part) == Array(Self.content.prefix(part)))
    first.close()
    #expect(read(first) == [])
    let second = SpooledBodyStream(body)
    #expect(second.streamStatus == .notOpen)
    second.open()
    #expect(read(second) == Self.content)
    #expect(second.streamStatus == .atEnd && !second.hasBytesAvailable)
    let third = SpooledBodyStream(body)
    third.open()
    #expect(read(third, piece: 64_000) == Self.content)
  }

  @Test func aStreamThatCanNotBeReadFails() throws {
    let missing = try #require(InputStream(fileAtPath: "/nowhere/at/all"))
    let stream = SpooledBodyStream(SpooledBody(SendableInputStream(missing)))
    stream.open()
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(stream.read(&buffer, maxLength: 8) == -1)
    #expect(stream.streamStatus == .error)
    #expect((stream.streamError as? URLError)?.code == .requestBodyStreamExhausted)
  }

  /// A `close` of the app's may block.
  @Test func theStreamIsNotClosedOnAnEventLoop() async throws {
    let executor = try #require(LoopExecutor.all.first)
    let closings = Recorder<Bool>()
    let body = SpooledBody(SendableInputStream(ClosingStream(closings)))
    var buffer: [UInt8] = [0]
    _ = try body.read(&buffer, 1, at: 0)
    executor.loop.execute { body.abandon() }
    #expect(try await closings.next() == false)
  }

  @Test func aReaderThatIsGivenUpDoesNotReadBesideTheNext() throws {
    let source = SlowStream(Self.content)
    let body = SpooledBody(SendableInputStream(source))
    let isRead = DispatchSemaphore(value: 0)
    Thread {
      var buffer = [UInt8](repeating: 0, count: 100)
      _ = try? body.read(&buffer, 100, at: 0)
      isRead.signal()
    }.start()
    source.isEntered.wait()
    let next = SpooledBodyStream(body)
    next.open()
    #expect(read(next) == Self.content)
    isRead.wait()
    #expect(!source.hasOverlapped)
  }

  @Test func aStreamIsNotOpenedAfterTheEnd() {
    let source = SlowStream(Self.content)
    let body = SpooledBody(SendableInputStream(source))
    body.abandon()
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(throws: URLError.self) { try body.read(&buffer, 8, at: 0) }
    #expect(source.streamStatus == .notOpen)
  }

  /// Its first read waits for a second one, for a while.
  private final class SlowStream: InputStream {
    private struct State {
      var position = 0
      var readers = 0
      var status = Stream.Status.notOpen
      var wasRead = false
      var hasOverlapped = false
    }

    let isEntered = DispatchSemaphore(value: 0)
    private let second = DispatchSemaphore(value: 0)
    private let content: [UInt8]
    private let state = Mutex(State())

    init(_ content: [UInt8]) {
      self.content = content
      super.init(data: Data())
    }

    var hasOverlapped: Bool { state.withLock { $0.hasOverlapped } }

    override func open() { state.withLock { $0.status = .open } }

    override func close() { state.withLock { $0.status = .closed } }

    override var streamStatus: Stream.Status { state.withLock { $0.status } }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
      let (isFirst, overlaps) = state.withLock { state in
        defer {
          state.wasRead = true
          state.readers += 1
          if state.readers > 1 { state.hasOverlapped = true }
        }
        return (!state.wasRead, state.readers > 0)
      }
      if overlaps { second.signal() }
      if isFirst {
        isEntered.signal()
        _ = second.wait(timeout: .now() + 0.1)
      }
      return state.withLock { state in
        let piece = content.dropFirst(state.position).prefix(len)
        for (index, byte) in piece.enumerated() { buffer[index] = byte }
        state.position += piece.count
        state.readers -= 1
        return piece.count
      }
    }
  }
}
