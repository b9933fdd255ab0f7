import NIOCore

/// Cuts the bytes of a connection into frames (RFC 9113 §4), whatever pieces they arrive in.
///
/// `append(_:)` bytes, then call `next()` until it returns nil. Payloads share the storage of what was appended; only a
/// frame that lies across two pieces is copied. After an error every call throws the same error.
package struct HTTP2FrameReader {
  package struct Limits: Sendable {
    /// SETTINGS_MAX_FRAME_SIZE as we announce it: the protocol's default.
    package var frameBytes = 16_384
    /// Bytes of one header block as it is on the wire, continuations included.
    package var blockBytes = ResponseLimits.standard.headBytes
    /// CONTINUATION frames behind one HEADERS.
    package var continuations = 64

    package init() {}
  }

  private struct Block {
    let stream: HTTP2StreamNumber
    let endsStream: Bool
    var bytes: ByteBuffer
    var wireSize: Int
    var continuations = 0
  }

  private let limits: Limits
  private var input = ByteBuffer()
  /// The beginning of a frame whose rest had not arrived.
  private var partial = ByteBuffer()
  /// A header block that waits for its CONTINUATION frames.
  private var block: Block?
  private var failure: HTTP2ConnectionError?
  private var hasSeenSettings = false

  package init(limits: Limits = Limits()) { self.limits = limits }

  package mutating func append(_ bytes: ByteBuffer) {
    if input.readableBytes > 0 { partial.writeBuffer(&input) }
    input = bytes
  }

  /// The next frame; nil when more bytes are needed.
  package mutating func next() throws(HTTP2ConnectionError) -> HTTP2Frame? {
    if let failure { throw failure }
    do {
      while let (header, payload) = try nextPayload() {
        if let frame = try frame(header, payload) { return frame }
      }
      return nil
    } catch {
      failure = error
      throw error
    }
  }

  // MARK: Pieces

  private mutating func nextPayload() throws(HTTP2ConnectionError) -> (HTTP2FrameHeader, ByteBuffer)? {
    guard partial.readableBytes > 0 else {
      guard let header = HTTP2FrameHeader(peekingAt: input) else { return setAside() }
      try check(header)
      guard input.readableBytes >= HTTP2FrameHeader.size + header.length else { return setAside() }
      input.moveReaderIndex(forwardBy: HTTP2FrameHeader.size)
      guard let payload = input.readSlice(length: header.length) else { return nil }
      return (header, payload)
    }
    fillPartial(to: HTTP2FrameHeader.size)
    guard let header = HTTP2FrameHeader(peekingAt: partial) else { return setAside() }
    try check(header)
    let size = HTTP2FrameHeader.size + header.length
    fillPartial(to: size)
    guard partial.readableBytes >= size else { return setAside() }
    partial.moveReaderIndex(forwardBy: HTTP2FrameHeader.size)
    let payload = partial
    partial = ByteBuffer()
    return (header, payload)
  }

  /// Copies the beginning of a frame, and lets go of the buffer that was appended: TLS reads into the same one again where no
  /// other refers to it, and otherwise copies it.
  private mutating func setAside() -> (HTTP2FrameHeader, ByteBuffer)? {
    if input.readableBytes > 0 { partial.writeBuffer(&input) }
    input = ByteBuffer()
    return nil
  }

  private mutating func fillPartial(to size: Int) {
    let missing = min(size - partial.readableBytes, input.readableBytes)
    guard missing > 0, var piece = input.readSlice(length: missing) else { return }
    partial.writeBuffer(&piece)
  }

  private mutating func check(_ header: HTTP2FrameHeader) throws(HTTP2ConnectionError) {
    // RFC 9113 §3.4: the server's first frame is its SETTINGS; what speaks something else is found out at once.
    if !hasSeenSettings {
      guard header.type == HTTP2FrameType.settings, !header.has(HTTP2FrameFlag.acknowledgement) else {
        throw HTTP2ConnectionError(.protocolError, "The server's first frame is not SETTINGS.")
      }
      hasSeenSettings = true
    }
    guard header.length <= limits.frameBytes else {
      throw HTTP2ConnectionError(.frameSizeError, "A frame is longer than \(limits.frameBytes) bytes.")
    }
    // RFC 9113 §6.10: nothing may come between the parts of a header block.
    if let block {
      guard header.type == HTTP2FrameType.continuation, header.stream == block.stream else {
        throw HTTP2ConnectionError(.protocolError, "A header block is interrupted by another frame.")
      }
    }
  }

  // MARK: Types

  private mutating func frame(
    _ header: HTTP2FrameHeader, _ payload: ByteBuffer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame? {
    var payload = payload
    switch header.type {
    case HTTP2FrameType.data:
      try requireStream(header, true)
      let bytes = try unpadded(header, payload)
      return .data(
        header.stream, bytes: bytes, flowControlled: header.length, endsStream: header.has(HTTP2FrameFlag.endStream))
    case HTTP2FrameType.headers: return try headers(header, payload)
    case HTTP2FrameType.continuation: return try continuation(header, payload)
    case HTTP2FrameType.reset:
      try requireStream(header, true)
      guard header.length == 4, let code = payload.readInteger(as: UInt32.self) else { throw wrongSize("RST_STREAM") }
      return .reset(header.stream, HTTP2ErrorCode(rawValue: code))
    case HTTP2FrameType.settings: return try settings(header, payload)
    case HTTP2FrameType.ping:
      try requireStream(header, false)
      guard header.length == 8, let data = payload.readInteger(as: UInt64.self) else { throw wrongSize("PING") }
      return header.has(HTTP2FrameFlag.acknowledgement) ? .pingAcknowledged(data) : .ping(data)
    case HTTP2FrameType.goAway:
      try requireStream(header, false)
      guard let last = payload.readInteger(as: UInt32.self), let code = payload.readInteger(as: UInt32.self) else {
        throw wrongSize("GOAWAY")
      }
      let debug = payload.readString(length: min(payload.readableBytes, 256)) ?? ""
      return .goAway(lastStream: last & 0x7fff_ffff, HTTP2ErrorCode(rawValue: code), debug: debug)
    case HTTP2FrameType.windowUpdate:
      guard header.length == 4, let increment = payload.readInteger(as: UInt32.self) else {
        throw wrongSize("WINDOW_UPDATE")
      }
      return .windowUpdate(header.stream, increment: Int(increment & 0x7fff_ffff))
    case HTTP2FrameType.pushPromise:
      // RFC 9113 §8.4: we said SETTINGS_ENABLE_PUSH = 0.
      throw HTTP2ConnectionError(.protocolError, "The server pushes, which it was told not to.")
    case HTTP2FrameType.priority:
      try requireStream(header, true)
      return .ignored
    case HTTP2FrameType.origin: return origins(header, payload)
    default: return .ignored
    }
  }

  private mutating func headers(
    _ header: HTTP2FrameHeader, _ payload: ByteBuffer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame? {
    try requireStream(header, true)
    var bytes = try unpadded(header, payload)
    if header.has(HTTP2FrameFlag.priority) {
      guard bytes.readSlice(length: 5) != nil else { throw wrongSize("HEADERS") }
    }
    let wireSize = HTTP2FrameHeader.size + header.length
    let endsStream = header.has(HTTP2FrameFlag.endStream)
    guard !header.has(HTTP2FrameFlag.endHeaders) else {
      return .headers(header.stream, block: bytes, wireSize: wireSize, endsStream: endsStream)
    }
    block = Block(stream: header.stream, endsStream: endsStream, bytes: bytes, wireSize: wireSize)
    return nil
  }

  private mutating func continuation(
    _ header: HTTP2FrameHeader, _ payload: ByteBuffer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame? {
    guard var block else {
      throw HTTP2ConnectionError(.protocolError, "CONTINUATION comes without HEADERS.")
    }
    self.block = nil
    block.continuations += 1
    block.bytes.writeImmutableBuffer(payload)
    block.wireSize += HTTP2FrameHeader.size + header.length
    guard block.continuations <= limits.continuations, block.bytes.readableBytes <= limits.blockBytes else {
      throw HTTP2ConnectionError(.enhanceYourCalm, "A header block goes on and on.")
    }
    guard header.has(HTTP2FrameFlag.endHeaders) else {
      self.block = block
      return nil
    }
    return .headers(block.stream, block: block.bytes, wireSize: block.wireSize, endsStream: block.endsStream)
  }

  private func settings(
    _ header: HTTP2FrameHeader, _ payload: ByteBuffer
  ) throws(HTTP2ConnectionError) -> HTTP2Frame {
    try requireStream(header, false)
    if header.has(HTTP2FrameFlag.acknowledgement) {
      guard header.length == 0 else { throw wrongSize("SETTINGS") }
      return .settingsAcknowledged
    }
    guard header.length % 6 == 0 else { throw wrongSize("SETTINGS") }
    var payload = payload
    var settings: [HTTP2Setting] = []
    while let identifier = payload.readInteger(as: UInt16.self), let value = payload.readInteger(as: UInt32.self) {
      settings.append(HTTP2Setting(identifier, value))
    }
    return .settings(settings)
  }

  /// RFC 8336 §2.1: on other streams, and with flags that have no meaning yet, it is ignored. So is what is cut short.
  private func origins(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) -> HTTP2Frame {
    guard header.stream == 0, header.flags & 0xf == 0 else { return .ignored }
    var payload = payload
    var origins: [String] = []
    while let length = payload.readInteger(as: UInt16.self) {
      guard let origin = payload.readString(length: Int(length)) else { return .ignored }
      origins.append(origin)
    }
    return .origins(origins)
  }

  private func unpadded(
    _ header: HTTP2FrameHeader, _ payload: ByteBuffer
  ) throws(HTTP2ConnectionError) -> ByteBuffer {
    guard header.has(HTTP2FrameFlag.padded) else { return payload }
    var payload = payload
    // RFC 9113 §6.1: padding as long as the payload, or longer, is an error.
    guard let padding = payload.readInteger(as: UInt8.self), Int(padding) <= payload.readableBytes,
      let bytes = payload.readSlice(length: payload.readableBytes - Int(padding))
    else { throw HTTP2ConnectionError(.protocolError, "A frame has more padding than payload.") }
    return bytes
  }

  private func requireStream(_ header: HTTP2FrameHeader, _ isOfStream: Bool) throws(HTTP2ConnectionError) {
    guard (header.stream != 0) == isOfStream else {
      throw HTTP2ConnectionError(.protocolError, "A frame of type \(header.type) is on stream \(header.stream).")
    }
  }

  private func wrongSize(_ type: String) -> HTTP2ConnectionError {
    HTTP2ConnectionError(.frameSizeError, "\(type) has the wrong length.")
  }
}
