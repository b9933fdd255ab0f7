import HTTPSemantics
import NIOCore
import NIOHPACK

/// The handling of each frame that arrives (RFC 9113 §6).
extension HTTP2Connection {
  func receive(_ frame: HTTP2Frame, at now: NIODeadline) throws {
    if !frame.isOfMessage { liveness.heard(frame, at: now) }
    switch frame {
    case .data(let stream, let bytes, let count, let endsStream):
      try data(stream, bytes, flowControlled: count, endsStream, at: now)
    case .headers(let stream, let block, let wireSize, let endsStream):
      try headers(stream, block, wireSize: wireSize, endsStream, at: now)
    case .reset(let stream, let code): try reset(stream, code, at: now)
    case .settings(let settings):
      try floodGuard.count(.settings, at: now)
      try apply(settings)
    case .settingsAcknowledged, .pingAcknowledged: try floodGuard.count(.acknowledgement, at: now)
    case .ping(let data):
      try floodGuard.count(.ping, at: now)
      HTTP2FrameWriter.ping(data, isAcknowledgement: true, into: &outgoing)
    case .goAway(let last, let code, let debug):
      try floodGuard.count(.goAway, at: now)
      goAway(last, code, debug)
    case .windowUpdate(let stream, let increment):
      try floodGuard.count(.windowUpdate, at: now)
      try windowUpdate(stream, increment)
    case .origins(let origins):
      try floodGuard.count(.ignored, at: now)
      pool.listed(origins, by: self)
    case .ignored: try floodGuard.count(.ignored, at: now)
    }
  }

  // MARK: Messages

  private func data(
    _ stream: HTTP2StreamNumber, _ bytes: ByteBuffer, flowControlled: Int, _ endsStream: Bool, at now: NIODeadline
  ) throws {
    guard receiveWindow.received(flowControlled) else {
      throw HTTP2ConnectionError(.flowControlError, "The server sends more than the connection's window allows.")
    }
    let increment = receiveWindow.consumed(flowControlled, keepsUp: false)
    if increment > 0 { HTTP2FrameWriter.windowUpdate(0, by: increment, into: &outgoing) }
    if bytes.readableBytes == 0, !endsStream { try floodGuard.count(.emptyData, at: now) }
    guard let exchange = try open(stream) else {
      switch closedStreams.arrived(.data(flowControlled), on: stream) {
      case .wasOnItsWay: return liveness.heard(at: now)
      case .isTooMuch:
        throw HTTP2ConnectionError(.enhanceYourCalm, "The server goes on with a body that was given up.")
      case .isUnexpected: return try floodGuard.count(.late, at: now)
      }
    }
    liveness.heard(at: now)
    do {
      try exchange.receivedData(bytes, flowControlled: flowControlled, endsStream: endsStream, at: now)
    } catch { reject(exchange, error) }
  }

  private func headers(
    _ stream: HTTP2StreamNumber, _ block: ByteBuffer, wireSize: Int, _ endsStream: Bool, at now: NIODeadline
  ) throws {
    // Decoded also when its stream is closed: the compression is one state for the whole connection.
    let fields: HTTP2FieldSection
    do { fields = try responses.decode(block) } catch is NIOHPACKErrors.MaxHeaderListSizeViolation {
      if let exchange = streams[stream] { reject(exchange, .headTooLarge) }
      throw HTTP2ConnectionError(.compressionError, "A response's header fields are larger than allowed.")
    } catch { throw HTTP2ConnectionError(.compressionError, "A header block can't be decoded: \(error)") }
    guard let exchange = try open(stream) else {
      guard case .wasOnItsWay = closedStreams.arrived(.head, on: stream) else {
        return try floodGuard.count(.late, at: now)
      }
      return liveness.heard(at: now)
    }
    liveness.heard(at: now)
    do {
      try exchange.receivedFields(fields, wireSize: wireSize, endsStream: endsStream, at: now)
    } catch { reject(exchange, error) }
  }

  private func reset(_ stream: HTTP2StreamNumber, _ code: HTTP2ErrorCode, at now: NIODeadline) throws {
    guard let exchange = try open(stream) else {
      // The server may have given up a stream that was closed from here.
      guard closedStreams.arrived(.reset, on: stream) != .wasOnItsWay else { return }
      return try floodGuard.count(.reset, at: now)
    }
    streams[stream] = nil
    exchange.receivedReset(code)
  }

  /// The exchange of a stream that is open; nil when it was closed before, so that the frame was on its way then.
  private func open(_ stream: HTTP2StreamNumber) throws(HTTP2ConnectionError) -> HTTP2Exchange? {
    if let exchange = streams[stream] { return exchange }
    // RFC 9113 §5.1: nothing can arrive for a stream that was not opened.
    guard stream % 2 == 1, stream < nextStream else {
      throw HTTP2ConnectionError(.protocolError, "A frame is for stream \(stream), which was never opened.")
    }
    return nil
  }

  /// The server's message on the stream is no response.
  private func reject(_ exchange: HTTP2Exchange, _ error: HTTP2MessageError) {
    exchange.receivedNonsense(error)
    close(exchange, .protocolError)
  }

  // MARK: The connection

  private func apply(_ list: [HTTP2Setting]) throws(HTTP2ConnectionError) {
    let before = settings
    try settings.apply(list)
    stopAwaitingSettings()
    // RFC 9113 §6.9.2: the windows of all streams move by the difference, perhaps below zero.
    let difference = settings.initialWindow - before.initialWindow
    if difference != 0 {
      for exchange in streams.values {
        guard exchange.openSendWindow(by: difference) else {
          throw HTTP2ConnectionError(.flowControlError, "SETTINGS_INITIAL_WINDOW_SIZE overflows a stream's window.")
        }
      }
    }
    // Less than the default must be kept to; more is an offer that is not taken. RFC 7541 §4.2: of several changes the
    // smallest is told, too.
    for size in [settings.smallestHeaderTableBytes, settings.headerTableBytes] {
      requests.setTableSize(size)
    }
    HTTP2FrameWriter.settingsAcknowledgement(into: &outgoing)
    if settings.maximumConcurrentStreams != before.maximumConcurrentStreams { pool.capacityChanged(self) }
    if !before.isKnown || settings.enablesConnectProtocol != before.enablesConnectProtocol {
      pool.learnedProtocolChange(self, isOffered: settings.enablesConnectProtocol)
    }
    let waiting = awaitingSettings
    awaitingSettings = []
    for exchange in waiting { exchange.receivedSettings() }
    pump()
  }

  private func goAway(_ last: HTTP2StreamNumber, _ code: HTTP2ErrorCode, _ debug: String) {
    let text = debug.isEmpty ? code.name : "\(code.name), \(debug)"
    // RFC 9113 §6.8: what is numbered higher was not acted upon.
    let unprocessed = streams.values.filter { $0.stream > last }
    for exchange in unprocessed { streams[exchange.stream] = nil }
    drain()
    let error: TransportError =
      code == .http11Required
      ? .requiresHTTP1
      : .notProcessed(reason: "the server is going away (\(text))", because: .leaving(hasServed: hasServed))
    for exchange in unprocessed { exchange.connectionFailed(error) }
  }

  private func windowUpdate(_ stream: HTTP2StreamNumber, _ increment: Int) throws(HTTP2ConnectionError) {
    guard stream != 0 else {
      sendWindow += increment
      guard increment > 0, sendWindow <= 0x7fff_ffff else {
        throw HTTP2ConnectionError(
          increment == 0 ? .protocolError : .flowControlError, "WINDOW_UPDATE is out of range.")
      }
      return pump()
    }
    guard let exchange = try open(stream) else { return }
    guard increment > 0, exchange.openSendWindow(by: increment) else {
      exchange.connectionFailed(.malformedResponse(reason: "WINDOW_UPDATE is out of range"))
      return close(exchange, increment == 0 ? .protocolError : .flowControlError)
    }
    pump()
  }
}
