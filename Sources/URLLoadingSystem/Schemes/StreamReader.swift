import Foundation
import HTTPTransport
import NIOCore
import NIOPosix

/// Reads an `InputStream` on a thread of the pool: a stream may block, and the loop must not. Confined to its loop, except
/// for the reads themselves, of which at most one runs.
final class StreamReader: BodyReader {
  private let stream: SendableInputStream
  private let loop: any EventLoop
  private var isOpen = false
  private var isOver = false

  private static let pieceSize = 64 * 1024

  init(_ stream: SendableInputStream, loop: any EventLoop) {
    self.stream = stream
    self.loop = loop
  }

  deinit { stream.stream.close() }

  func next() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    guard !isOver else { return nil }
    let source = stream
    let mustOpen = !isOpen
    isOpen = true
    let bytes = try await BlockingWork.streams.runIfActive(eventLoop: loop) { () throws -> ByteBuffer? in
      let stream = source.stream
      if mustOpen, stream.streamStatus == .notOpen { stream.open() }
      var piece = [UInt8](repeating: 0, count: StreamReader.pieceSize)
      let count = stream.read(&piece, maxLength: piece.count)
      guard count >= 0 else {
        var error = ErrorMapping.make(.requestBodyStreamExhausted, because: "The body stream could not be read.")
        // Without an error, as for a stream that is closed, the getter traps.
        if stream.streamStatus == .error, let cause = stream.streamError {
          error = URLError(
            error.code, userInfo: error.userInfo.merging([NSUnderlyingErrorKey: cause]) { first, _ in first })
        }
        throw error
      }
      return count == 0 ? nil : ByteBuffer(bytes: piece[..<count])
    }.get()
    if bytes == nil { isOver = true }
    return bytes
  }

  func close() {
    loop.assertInEventLoop()
    isOver = true
  }
}
