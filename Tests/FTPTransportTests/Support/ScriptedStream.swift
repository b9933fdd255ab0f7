import HTTPTransport
import NIOCore

/// A connection whose peer is a script: gives out pieces of text, and keeps what is written. Confined to its loop.
final class ScriptedStream: DuplexStream, @unchecked Sendable {
  private let loop: any EventLoop
  private var pieces: ArraySlice<String>
  private(set) var written = ""
  /// What was sent at the end; nil while the stream was not ended.
  private(set) var lastWords: String?
  private(set) var isClosed = false

  /// - Parameter pieces: What the peer sends, one piece a read; then it closes its side.
  init(_ pieces: [String], on loop: any EventLoop) {
    self.pieces = pieces[...]
    self.loop = loop
  }

  func read() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    return pieces.popFirst().map { ByteBuffer(string: $0) }
  }

  func unread(_ bytes: ByteBuffer) { pieces = [String(buffer: bytes)] + pieces }

  func write(_ bytes: ByteBuffer) async throws {
    loop.assertInEventLoop()
    written += String(buffer: bytes)
  }

  func closeWrite() async throws {}

  func end(sending last: ByteBuffer?, patience: TimeAmount) {
    loop.assertInEventLoop()
    lastWords = last.map { String(buffer: $0) } ?? ""
  }

  func close() {
    loop.assertInEventLoop()
    isClosed = true
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {}

  func startTLS(_ terms: TLSTerms) async throws {}
}
