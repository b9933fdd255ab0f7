import NIOCore

/// Performs the steps of one reply on a sink. Knows time and order, no framing.
struct ReplyRunner {
  /// Bodies made while they are sent go out in pieces of at most this many bytes.
  private static let pieceSize = 256 * 1024

  private let reply: Reply
  private var pacer: Pacer?

  init(_ reply: Reply) {
    self.reply = reply
  }

  /// - Parameter bodyIsRead: Called before the first step after which no step reads of the request's body.
  mutating func perform(on sink: some ReplySink, bodyIsRead: () -> Void = {}) async throws {
    let steps = reply.steps
    let lastReading = steps.lastIndex { if case .readRequestBody = $0 { true } else { false } }
    if lastReading == nil { bodyIsRead() }
    for (index, step) in steps.enumerated() {
      try Task.checkCancellation()
      try await perform(step, on: sink)
      if index == lastReading { bodyIsRead() }
    }
  }

  private mutating func perform(_ step: ReplyStep, on sink: some ReplySink) async throws {
    switch step {
    case .informational(let status, let fields): try await sink.informational(status, fields: fields)
    case .head(let status, let reason, let fields): try await sink.head(status, reason: reason, fields: fields)
    case .raw(let bytes): try await sink.raw(ByteBuffer(bytes: bytes))
    case .bytes(let bytes): try await send(ByteBuffer(bytes: bytes), on: sink)
    case .chunk(let bytes): try await send(bytes.count) { try await sink.chunk(ByteBuffer(bytes: bytes)) }
    case .pattern(let pattern, let offset, let count):
      try await forEachPiece(from: offset, count: count, atMost: pacer?.pieceSize ?? Self.pieceSize) {
        try await sink.body(pattern.buffer(at: $0, count: $1))
      }
    case .patternChunks(let pattern, let offset, let count, let each):
      try await forEachPiece(from: offset, count: count, atMost: each) {
        try await sink.chunk(pattern.buffer(at: $0, count: $1))
      }
    case .trailers(let fields): try await sink.trailers(fields)
    case .delay(let duration): try await Task.sleep(for: duration)
    case .waitFor(let gate): try await gate.wait()
    case .open(let gate): gate.open()
    case .limitRate(let rate): pacer = rate.map { Pacer(bytesPerSecond: $0) }
    case .readRequestBody(let limit): try await sink.readRequestBody(upTo: limit)
    case .closeGracefully: try await sink.end(.closeGracefully)
    case .closeAbruptly: try await sink.end(.closeAbruptly)
    case .reset: try await sink.end(.reset)
    case .stall: try await Gate().wait()
    case .handOver(let script): try await sink.handOver(to: script)
    }
  }

  /// Sends given bytes, in pieces when the rate is limited.
  private mutating func send(_ bytes: ByteBuffer, on sink: some ReplySink) async throws {
    var rest = bytes
    while rest.readableBytes > 0 {
      let size = min(rest.readableBytes, pacer?.pieceSize ?? rest.readableBytes)
      guard let piece = rest.readSlice(length: size) else { return }
      try await send(size) { try await sink.body(piece) }
    }
  }

  private mutating func forEachPiece(
    from offset: Int64, count: Int64, atMost size: Int, _ send: (Int64, Int) async throws -> Void
  ) async throws {
    var position = offset
    let end = offset + count
    while position < end {
      let count = Int(min(Int64(max(size, 1)), end - position))
      let start = position
      try await self.send(count) { try await send(start, count) }
      position += Int64(count)
    }
  }

  /// Sends one piece of body. It counts before the kernel has it: the client may have it before this returns.
  private mutating func send(_ count: Int, _ piece: () async throws -> Void) async throws {
    reply.onBodySent?(count)
    do { try await piece() } catch {
      reply.onBodySent?(-count)
      throw error
    }
    try await pacer?.sent(count)
  }
}

/// Holds a stream of bytes to a rate, counted from its first piece.
private struct Pacer {
  let bytesPerSecond: Int
  private var count: Int64 = 0
  private var start: ContinuousClock.Instant?

  init(bytesPerSecond: Int) {
    self.bytesPerSecond = max(bytesPerSecond, 1)
  }

  /// A fiftieth of a second's worth.
  var pieceSize: Int { min(max(bytesPerSecond / 50, 1), 256 * 1024) }

  /// Returns when so many more bytes may have gone out.
  mutating func sent(_ more: Int) async throws {
    let start = self.start ?? .now
    self.start = start
    count += Int64(more)
    let due = start + .nanoseconds(Int64(Double(count) / Double(bytesPerSecond) * 1e9))
    try await Task.sleep(until: due, clock: .continuous)
  }
}
