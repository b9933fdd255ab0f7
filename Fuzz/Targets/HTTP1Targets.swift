import HTTPSemantics
import HTTPTransport
import NIOCore

extension FuzzTarget {
  /// Whole responses: status lines, fields, framing, one response after the other.
  static let heads = FuzzTarget("heads") { bytes in
    let (choice, rest) = bytes.choice
    let method = ["GET", "HEAD", "CONNECT", "POST"][choice & 3]
    _ = try HTTP1Reading.whicheverWayItIsCut(
      rest, pieceSize: choice >> 3 + 2, methods: [method, "GET"], closes: choice & 4 == 0)
  }

  /// Chunked bodies, and what is chunked by us.
  static let chunks = FuzzTarget("chunks") { bytes in
    let (choice, rest) = bytes.choice
    let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    let reading = try HTTP1Reading.whicheverWayItIsCut(
      head + rest, pieceSize: choice >> 1 + 2, methods: ["GET"], closes: choice & 1 == 0)
    var received: [UInt8] = []
    for case .body(let body) in reading.events { received += body }
    try require(received.count <= rest.count, "more was received than was sent")

    // Whatever is sent in chunks of ours arrives as it was.
    var wire = ByteBuffer(bytes: head)
    for piece in rest.pieces(of: choice + 1) {
      wire.writeImmutableBuffer(HTTP1RequestEncoder.chunk(ByteBuffer(bytes: piece)))
    }
    wire.writeImmutableBuffer(HTTP1RequestEncoder.lastChunk())
    let own = try HTTP1Reading([Array(buffer: wire)[...]], methods: ["GET"], closes: false)
    try require(own.error == nil && own.events.last == .end(nil) && own.leftOver == [], "our own chunks: \(own)")
    try require(rest.isEmpty || own.events.contains(.body(rest)), "our own chunks hold something else")
  }
}
