import HTTPTransport
import NIOCore

/// A connection whose peer is a script: gives out pieces of text, and keeps what is written. Confined to its loop.
final class ScriptedStream: DuplexStream, @unchecked Sendable {
  private let loop: any EventLoop
  private var pieces: ArraySlice<String>
  private let staysOpen: Bool
  private var reader: CheckedContinuation<ByteBuffer?, any Error>?
  private(set) var written = ""
  /// What was sent at the end; nil while the stream was not ended.
  private(set) var lastWords: String?
  private(set) var isClosed = false
  /// Whether the peer is taken to have sent something unasked.
  var hasUnreadInput = false

  /// - Parameters:
  ///   - pieces: What the peer sends, one piece a read.
  ///   - staysOpen: Whether it says nothing more after that; otherwise it closes its side.
  init(_ pieces: [String], staysOpen: Bool = false, on loop: any EventLoop) {
    self.pieces = pieces[...]
    self.staysOpen = staysOpen
    self.loop = loop
  }

  func read() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    if let piece = pieces.popFirst() { return ByteBuffer(string: piece) }
    guard staysOpen, !isClosed else { return nil }
    return try await withCheckedThrowingContinuation { reader = $0 }
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
    let reader = self.reader
    self.reader = nil
    reader?.resume(returning: nil)
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {}

  func startTLS(_ terms: TLSTerms) async throws {}
}
