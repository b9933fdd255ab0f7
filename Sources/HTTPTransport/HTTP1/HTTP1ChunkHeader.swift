import HTTPSemantics

/// The line before a chunk's data: its size in hexadecimal, then extensions, which mean nothing to us (RFC 9112 §7.1).
enum HTTP1ChunkHeader {
  static func size(
    _ bytes: UnsafeRawBufferPointer, line: HTTP1LineReader.Line
  ) throws(HTTP1ParseError) -> Int64 {
    // RFC 9112 §2.2 lets a lone LF end start and field lines, not these: here it is how a body is smuggled in.
    guard line.hasCarriageReturn else { throw .invalidChunkSize }
    var size: Int64 = 0
    var index = 0
    while index < line.end, let digit = bytes[index].hexValue {
      guard size <= Int64.max >> 4 else { throw .chunkSizeTooLarge }
      size = size << 4 | Int64(digit)
      index += 1
    }
    guard index > 0 else { throw .invalidChunkSize }
    // Some servers pad the size with spaces; RFC 9112 §7.1.1 has them only before an extension.
    while index < line.end, bytes[index].isHTTPWhitespace { index += 1 }
    guard index == line.end || bytes[index] == UInt8(ascii: ";") else { throw .invalidChunkSize }
    while index < line.end {
      guard !bytes[index].isControl || bytes[index] == 0x09 else { throw .invalidChunkSize }
      index += 1
    }
    return size
  }
}
