import HTTPSemantics
import NIOCore
import NIOHPACK

/// Sends heads as they are written and bodies as the windows allow, in as few writes as possible.
extension HTTP2Connection {
  /// More than this is not gathered before it goes to the socket.
  private static let batchBytes = 128 * 1024

  /// Opens a stream for `exchange` with its request's head. Returns the stream's number and the head's size on the wire.
  ///
  /// - Parameter head: As in `HTTP2RequestEncoder.encode(_:of:)`.
  func open(
    _ exchange: HTTP2Exchange, _ fields: HTTP2RequestEncoder.Fields, of head: HTTPRequestHead?, endsStream: Bool
  ) throws -> (HTTP2StreamNumber, wireSize: Int) {
    assertInEventLoop()
    switch failure {
    case nil: break
    // Nothing of the request was sent.
    case .connectionLost, .malformedResponse, .noSettings:
      throw gone(reason: "the connection ended before the request was sent")
    case let failure?: throw failure
    }
    guard !isDraining else { throw gone(reason: "the server is going away") }
    let stream = nextStream
    do { try requests.encode(fields, of: head) } catch {
      // The two ends no longer agree on what is compressed how.
      fail(TransportError.connectionLost(reason: "the header fields could not be compressed"))
      close()
      throw TransportError.invalidRequest(reason: "the header fields could not be compressed: \(error)")
    }
    nextStream += 2
    streams[stream] = exchange
    let size = HTTP2FrameWriter.headers(
      stream, block: requests.block, endsStream: endsStream, frameBytes: settings.frameBytes, into: &outgoing)
    scheduleFlush()
    // RFC 9113 §5.1.1: numbers are not used again.
    if nextStream > 0x7fff_ff00 { drain() }
    return (stream, size)
  }

  private func gone(reason: String) -> TransportError {
    .notProcessed(reason: reason, because: .leaving(hasServed: hasServed))
  }

  /// A connection that broke before a byte of response came may only have been stale.
  func meaning(of failure: TransportError, for exchange: HTTP2Exchange) -> TransportError {
    guard case .connectionLost = failure, exchange.record.responseStart == nil else { return failure }
    return .closedBeforeResponse(wasReused: exchange.record.isReusedConnection)
  }

  /// `exchange` has body to send and its window is open.
  func enqueue(_ exchange: HTTP2Exchange) {
    assertInEventLoop()
    guard !exchange.isWaitingToSend else { return }
    exchange.isWaitingToSend = true
    senders.append(exchange)
    pump()
  }

  /// Sends body, a frame of each stream in turn, until a window or the socket is full.
  func pump() {
    assertInEventLoop()
    guard failure == nil else { return }
    while sendWindow > 0, channel.isWritable, let exchange = senders.popFirst() {
      exchange.isWaitingToSend = false
      guard let piece = exchange.takeBody(atMost: min(sendWindow, settings.frameBytes)) else { continue }
      sendWindow -= piece.bytes.readableBytes
      HTTP2FrameWriter.data(exchange.stream, piece.bytes, endsStream: piece.endsStream, into: &outgoing)
      outgoingHasBody = true
      if exchange.hasBodyToSend {
        exchange.isWaitingToSend = true
        senders.append(exchange)
      }
      if outgoing.readableBytes >= HTTP2Connection.batchBytes { flush() }
      exchange.sentBody(endsStream: piece.endsStream)
    }
    if outgoing.readableBytes > 0 { scheduleFlush() }
  }

  /// The end of a body that was not announced, with trailers or without.
  func endBody(of exchange: HTTP2Exchange, trailers: HPACKHeaders?) throws -> Int {
    if let failure { throw meaning(of: failure, for: exchange) }
    let before = outgoing.readableBytes
    if let trailers {
      try requests.encode(.list(trailers))
      HTTP2FrameWriter.headers(
        exchange.stream, block: requests.block, endsStream: true, frameBytes: settings.frameBytes, into: &outgoing)
    } else {
      HTTP2FrameWriter.data(exchange.stream, ByteBuffer(), endsStream: true, into: &outgoing)
    }
    scheduleFlush()
    return outgoing.readableBytes - before
  }

  /// The reader of a stream has made room.
  func openWindow(of stream: HTTP2StreamNumber, by increment: Int) {
    assertInEventLoop()
    guard failure == nil, streams[stream] != nil else { return }
    HTTP2FrameWriter.windowUpdate(stream, by: increment, into: &outgoing)
    scheduleFlush()
  }

  func updatePriority(of stream: HTTP2StreamNumber, to value: String) {
    guard failure == nil, streams[stream] != nil else { return }
    HTTP2FrameWriter.priorityUpdate(stream, value, into: &outgoing)
    scheduleFlush()
  }

  /// Ends a stream that is still open on one side at least.
  func close(_ exchange: HTTP2Exchange, _ code: HTTP2ErrorCode) {
    assertInEventLoop()
    guard streams.removeValue(forKey: exchange.stream) != nil, failure == nil else { return }
    closedStreams.closed(exchange.stream)
    HTTP2FrameWriter.reset(exchange.stream, code, into: &outgoing)
    scheduleFlush()
  }

  /// Both sides of the stream are complete.
  func completed(_ exchange: HTTP2Exchange) {
    assertInEventLoop()
    streams[exchange.stream] = nil
    hasServed = true
  }

  // MARK: The socket

  /// Sends together what the loads of this turn of the loop write.
  func scheduleFlush() {
    assertInEventLoop()
    guard !flushIsScheduled else { return }
    flushIsScheduled = true
    pool.executor.afterJobs { [self] in
      flushIsScheduled = false
      flush()
    }
  }
}
