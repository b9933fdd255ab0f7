/// What a server does with one request: a list of steps, performed in order.
///
/// Ready-made replies (``ok(_:type:fields:)``, ``chunked(_:fields:trailers:)``, ``truncated(declared:sent:ending:)`` …)
/// are framed correctly unless their name says otherwise; any fault beyond them is told step by step:
/// ```swift
/// Reply([.head(200, fields: [("Content-Length", "100")]), .body("half"), .waitFor(gate), .reset])
/// ```
/// A reply ends with its last step; the connection is then used for the next request unless the client or the reply
/// asked for its end. Head and body steps mean the same over any version of HTTP; ``ReplyStep/raw(_:)`` is for HTTP/1
/// alone. In the answer to HEAD the body steps send nothing.
package struct Reply: Sendable {
  package var steps: [ReplyStep]
  /// Told the size of each piece of body, without framing, just before it is given to the kernel, and the negative size
  /// when the kernel has not taken it. So a client that has all of a body finds all of it counted.
  package var onBodySent: (@Sendable (Int) -> Void)?

  package init(_ steps: [ReplyStep]) {
    self.steps = steps
  }
}

/// One step of a ``Reply``.
package enum ReplyStep: Sendable {
  /// A 1xx head: nothing is added.
  case informational(Int, fields: HeaderList = [])
  /// The final head: exactly these fields, nothing is added. `reason` nil means the usual phrase; "" is an empty one.
  case head(Int, reason: String? = nil, fields: HeaderList = [])
  /// Bytes as they are, outside all framing.
  case raw([UInt8])
  /// Body bytes without chunk framing.
  case bytes([UInt8])
  /// One chunk of a chunked body (simply body bytes where the version of HTTP has no chunks).
  case chunk([UInt8])
  /// Body bytes made while they are sent, with back-pressure and in little memory.
  case pattern(BytePattern, from: Int64 = 0, count: Int64)
  /// The same in chunks of `each` bytes.
  case patternChunks(BytePattern, from: Int64 = 0, count: Int64, each: Int)
  /// The end of a chunked body, with or without trailer fields.
  case trailers(HeaderList)
  /// A pause on the server's side.
  case delay(Duration)
  /// Goes on when the test opens the gate.
  case waitFor(Gate)
  /// Opens a gate: tells the test that the script got here.
  case open(Gate)
  /// Body bytes of the following steps leave at this rate; nil lifts the limit.
  case limitRate(bytesPerSecond: Int?)
  /// Reads the request body, as much of it as is not read yet, until `upTo` bytes of it have come; nil means all. For
  /// replies given before the body was read.
  case readRequestBody(upTo: Int64? = nil)
  /// TLS close_notify and FIN, then waits for the client to close too.
  case closeGracefully
  /// FIN without a TLS close_notify: a truncation attack over TLS.
  case closeAbruptly
  /// RST. What was sent before still reaches a client that has room for it.
  case reset
  /// Never goes on. Ends when the client closes the connection or the server shuts down.
  case stall
  /// Leaves HTTP: the closure owns the connection (WebSocket, CONNECT), which is closed when it returns.
  case handOver(@Sendable (ServerConnection) async throws -> Void)

  package static func body(_ text: String) -> ReplyStep { .bytes(Array(text.utf8)) }
  package static func body(_ bytes: [UInt8]) -> ReplyStep { .bytes(bytes) }
  package static func raw(_ text: String) -> ReplyStep { .raw(Array(text.utf8)) }
  package static func chunk(_ text: String) -> ReplyStep { .chunk(Array(text.utf8)) }
  /// The end of a chunked body without trailer fields.
  package static var endOfChunks: ReplyStep { .trailers([]) }
}

/// How a reply that breaks off ends the connection.
package enum ReplyEnding: Sendable {
  case closeGracefully, closeAbruptly, reset, stall

  var step: ReplyStep {
    switch self {
    case .closeGracefully: .closeGracefully
    case .closeAbruptly: .closeAbruptly
    case .reset: .reset
    case .stall: .stall
    }
  }
}
