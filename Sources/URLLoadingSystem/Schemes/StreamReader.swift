import Foundation
import HTTPTransport
import NIOCore
import NIOPosix

/// Reads an `InputStream` on a thread of the pool: a stream may block, and the loop must not. Confined to its loop, except
/// for the reads themselves, of which at most one runs.
final class StreamReader: BodyReader {
  private let source: BodyStream
  private let loop: any EventLoop
  /// How long a read may go on after `close()`.
  private let patience: TimeAmount
  private var isOpen = false
  private var isOver = false

  private static let pieceSize = 64 * 1024

  init(_ stream: SendableInputStream, loop: any EventLoop, patience: TimeAmount = .seconds(1)) {
    source = BodyStream(stream)
    self.loop = loop
    self.patience = patience
  }

  func next() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    guard !isOver else { return nil }
    let source = self.source
    let mustOpen = !isOpen
    isOpen = true
    let bytes = try await BlockingWork.streams.runIfActive(eventLoop: loop) {
      try source.read { stream in
        if mustOpen, stream.streamStatus == .notOpen { stream.open() }
        return try StreamReader.piece(of: stream)
      }
    }.get()
    if bytes == nil { isOver = true }
    return bytes
  }

  private static func piece(of stream: InputStream) throws -> ByteBuffer? {
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
  }

  /// Ends the body. A read that is under way, and goes on for longer than the patience, is made to return where that is
  /// possible; see `BodyStream.interrupt()`.
  func close() {
    loop.assertInEventLoop()
    isOver = true
    guard source.abandon() else { return }
    let source = self.source
    // Closing may block as well. It is rare, and none of the pool's threads may be left for it.
    loop.scheduleTask(in: patience) { DispatchQueue.global().async { source.interrupt() } }
  }
}
