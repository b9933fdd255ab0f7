import CZstd

/// zstd (RFC 8878): frames, skippable ones among them, one after the other.
final class ZstdDecoder: ContentDecoder {
  private let stream: OpaquePointer
  private(set) var isBetweenMembers = true

  /// RFC 9659 §3: a decoder for the Web takes windows of up to 8 MiB, and no encoder may use a larger one.
  private static let largestWindow: Int32 = 23

  init() throws(ContentDecodingFailure) {
    guard let stream = ZSTD_createDCtx() else { throw .noMemory }
    self.stream = stream
    let result = ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZstdDecoder.largestWindow)
    guard ZSTD_isError(result) == 0 else {
      ZSTD_freeDCtx(stream)
      throw .noMemory
    }
  }

  deinit { ZSTD_freeDCtx(stream) }

  /// RFC 8878 §3.1: frames begin with 28 B5 2F FD; skippable ones with 50…5F and 2A 4D 18.
  func beginsMember(_ byte: UInt8) -> Bool { byte == 0x28 || byte & 0xf0 == 0x50 }

  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress {
    // A frame that is given as a whole, and fits, is decoded in another way: without a look at its window, and with one
    // at the length it announces. It is not given as a whole, so that its fate does not depend on how the bytes came.
    var source = ZSTD_inBuffer(
      src: input.baseAddress, size: isBetweenMembers ? min(1, input.count) : input.count, pos: 0)
    var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    var result = ZSTD_decompressStream(stream, &target, &source)
    if source.size < input.count, ZSTD_isError(result) == 0 {
      source.size = input.count
      result = ZSTD_decompressStream(stream, &target, &source)
    }
    guard ZSTD_isError(result) == 0 else {
      throw ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
        ? .noMemory : .corrupt("zstd says \(String(cString: ZSTD_getErrorName(result)))")
    }
    isBetweenMembers = result == 0
    return ContentDecodingProgress(consumed: source.pos, produced: target.pos)
  }
}
