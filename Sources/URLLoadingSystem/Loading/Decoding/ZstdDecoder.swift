import CZstd

/// zstd (RFC 8878): frames, skippable ones among them, one after the other.
///
/// The result of a frame does not depend on how its bytes come. The library decodes a frame that is there as a whole in
/// another way, with another opinion on windows and lengths: it never gets one, since headers are given alone.
final class ZstdDecoder: ContentDecoder {
  private let stream: OpaquePointer
  /// The header of the frame that is being read; empty between frames.
  private var header = ZstdFrameHeader()
  /// Of the frame's content.
  private var produced: UInt64 = 0

  var isBetweenMembers: Bool { header.bytes.isEmpty }

  init() throws(ContentDecodingFailure) {
    guard let stream = ZSTD_createDCtx() else { throw .noMemory }
    self.stream = stream
    let result = ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, Int32(ZstdFrameHeader.largestWindowLog))
    guard ZSTD_isError(result) == 0 else {
      ZSTD_freeDCtx(stream)
      throw .noMemory
    }
  }

  deinit { ZSTD_freeDCtx(stream) }

  func beginsMember(_ byte: UInt8) -> Bool { ZstdFrameHeader.canBegin(with: byte) }

  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress {
    var consumed = 0
    if header.state != .complete {
      while consumed < input.count, header.state == .incomplete {
        header.append(input[consumed])
        consumed += 1
      }
      if case .wrong(let reason) = header.state { throw .corrupt("zstd: \(reason)") }
      guard header.state == .complete else { return ContentDecodingProgress(consumed: consumed, produced: 0) }
      let outcome = header.bytes.withUnsafeBytes { bytes in
        Result { () throws(ContentDecodingFailure) in
          try decompress(bytes, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
        }
      }
      let isEnd = try outcome.get().isEnd
      if isEnd {
        try endFrame()
        return ContentDecodingProgress(consumed: consumed, produced: 0)
      }
    }
    let progress = try decompress(UnsafeRawBufferPointer(rebasing: input[consumed...]), into: output)
    produced += UInt64(progress.produced)
    if progress.isEnd { try endFrame() }
    return ContentDecodingProgress(consumed: consumed + progress.consumed, produced: progress.produced)
  }

  private func endFrame() throws(ContentDecodingFailure) {
    if let length = header.contentLength, length != produced { throw .corrupt("zstd: a frame has another length") }
    header = ZstdFrameHeader()
    produced = 0
  }

  private func decompress(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> (consumed: Int, produced: Int, isEnd: Bool) {
    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    let result = ZSTD_decompressStream(stream, &target, &source)
    guard ZSTD_isError(result) == 0 else {
      throw ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
        ? .noMemory : .corrupt("zstd says \(String(cString: ZSTD_getErrorName(result)))")
    }
    return (source.pos, target.pos, result == 0)
  }
}
