import HTTPSemantics
import HTTPTransport
import NIOCore

extension FuzzTarget {
  /// A server's frames, compressed or not, and the extensions it says it agrees to.
  static let websocket = FuzzTarget("websocket") { bytes in
    let (choice, rest) = bytes.choice
    let isCompressed = choice & 1 == 1
    let whole = read([rest[...]], isCompressed)
    for size in Set([1, choice >> 1 + 1]) {
      let pieces = read(rest.pieces(of: size), isCompressed)
      // Of several things that are wrong with a message, the first to be noticed depends on how its bytes come.
      let isSame = whole.events == pieces.events && (whole.violation == nil) == (pieces.violation == nil)
      try require(isSame, "in pieces of \(size): \(pieces); at once: \(whole)")
    }
    for event in whole.events {
      switch event {
      case .message(let isText, let payload):
        try require(payload.readableBytes <= limit, "a message of \(payload.readableBytes) bytes")
        let text = String(validating: payload.readableBytesView, as: UTF8.self)
        try require(!isText || text != nil, "a text that is none")
      case .ping(let payload), .pong(let payload):
        try require(payload.readableBytes <= WebSocketFrame.longestControlPayload, "a long control frame")
      case .close(let status):
        try require(status.code.map { WebSocketCloseStatus.mayBeSent($0) } ?? true, "the code \(status)")
      }
    }
    for element in WebSocketExtension.list([bytes.text]) ?? [] {
      _ = MessageCompression(answer: element.parameters, mayLimitClientWindow: choice & 1 == 0)
    }
  }

  private static let limit = 4_096

  private struct Reading {
    var events: [WebSocketReader.Event] = []
    var violation: WebSocketViolation?
  }

  private static func read(_ pieces: [ArraySlice<UInt8>], _ isCompressed: Bool) -> Reading {
    var reading = Reading()
    do throws(WebSocketViolation) {
      var reader = try WebSocketReader(
        maximumMessageSize: limit, compression: isCompressed ? MessageCompression() : nil)
      for piece in pieces {
        reader.append(ByteBuffer(bytes: piece))
        while let event = try reader.next() { reading.events.append(event) }
      }
    } catch { reading.violation = error }
    return reading
  }
}
