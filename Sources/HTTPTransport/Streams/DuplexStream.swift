import NIOCore

/// Bytes both ways over a connection that speaks no HTTP, or no HTTP any more. Used on the load's loop.
///
/// At most one `read` and one `write` wait at a time; the two directions are independent.
package protocol DuplexStream: AnyObject, Sendable {
  /// The next bytes, never empty; nil when the peer has closed its side. Not reading stops the socket.
  func read() async throws -> ByteBuffer?
  /// Puts bytes in front of what is still to be read.
  func unread(_ bytes: ByteBuffer)
  /// Returns when the kernel has taken all of `bytes`.
  func write(_ bytes: ByteBuffer) async throws
  /// Tells the peer that nothing more comes (TLS close_notify, FIN). Reading goes on.
  func closeWrite() async throws
  /// Ends a waiting `read` with nil, sends `last` and closes. Gives the peer `patience` to close too, and discards what it
  /// still sends: closing with unread bytes would reset the connection and lose `last`.
  func end(sending last: ByteBuffer?, patience: TimeAmount)
  /// Closes at once; what waits ends with an error.
  func close()
  /// Calls `action` once, on the connection's loop, when the peer has closed its side and all before was received, whether
  /// or not a `read` waits.
  func whenInputEnds(_ action: @escaping @Sendable () -> Void)
  /// Makes the connection a TLS connection. Nothing may be waiting, and nothing unread.
  func startTLS(_ terms: TLSTerms) async throws
  /// Whether bytes are known to have come that were not read. On the connection's loop.
  var hasUnreadInput: Bool { get }
}

extension DuplexStream {
  /// Streams that can't tell without waiting.
  package var hasUnreadInput: Bool { false }
}
