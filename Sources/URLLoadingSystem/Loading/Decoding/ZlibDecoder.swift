import CZlib

/// gzip (RFC 1952) and deflate, by zlib. What is called deflate is the zlib format (RFC 1950) by the book, and a bare
/// deflate stream (RFC 1951) from servers that took the name at its word: the first two bytes tell which.
final class ZlibDecoder: ContentDecoder {
  enum Format { case gzip, zlibOrRaw }

  private let format: Format
  private let stream: UnsafeMutablePointer<z_stream>
  private var isInitialised = false
  /// The first byte, while it alone does not tell the format.
  private var heldByte: UInt8?
  private(set) var isBetweenMembers = true
  private var memberCount = 0

  init(_ format: Format) throws(ContentDecodingFailure) {
    self.format = format
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    if format == .gzip { try initialise(windowBits: 15 + 16) }
  }

  deinit {
    if isInitialised { inflateEnd(stream) }
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  private func initialise(windowBits: Int32) throws(ContentDecodingFailure) {
    let status = inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw .noMemory }
    isInitialised = true
  }

  func beginsMember(_ byte: UInt8) -> Bool { format == .gzip && byte == 0x1f }

  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress {
    if isBetweenMembers, memberCount > 0 { inflateReset(stream) }
    isBetweenMembers = false
    if isInitialised { return try inflate(input, into: output) }

    guard let first = heldByte ?? input.first else { return ContentDecodingProgress(consumed: 0, produced: 0) }
    guard let second = heldByte == nil ? input.dropFirst().first : input.first else {
      heldByte = first
      return ContentDecodingProgress(consumed: input.count, produced: 0)
    }
    // RFC 1950 §2.2: the low nibble of the first byte is 8, and the first two bytes are a multiple of 31.
    let isZlib = first & 0x0f == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
    try initialise(windowBits: isZlib ? 15 : -15)
    if heldByte != nil {
      heldByte = nil
      // A byte cannot be the end, and fills no output: it is consumed whole.
      _ = try withUnsafeBytes(of: first) { byte throws(ContentDecodingFailure) in try inflate(byte, into: output) }
    }
    return try inflate(input, into: output)
  }

  private func inflate(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress {
    let available = UInt32(clamping: input.count)
    let room = UInt32(clamping: output.count)
    // zlib reads through this pointer and never writes.
    stream.pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = available
    stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = room
    let status = CZlib.inflate(stream, Z_NO_FLUSH)
    switch status {
    // Z_BUF_ERROR: no progress was possible, which is no error.
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END:
      isBetweenMembers = true
      memberCount += 1
    case Z_MEM_ERROR: throw .noMemory
    default: throw .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(status)")
    }
    return ContentDecodingProgress(
      consumed: Int(available - stream.pointee.avail_in), produced: Int(room - stream.pointee.avail_out))
  }
}
