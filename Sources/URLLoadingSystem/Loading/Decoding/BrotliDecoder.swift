import CBrotli

/// brotli (RFC 7932). The decoder's windows end at 16 MiB: those of Large Window Brotli are refused.
final class BrotliDecoder: ContentDecoder {
  private let state: OpaquePointer
  private(set) var isBetweenMembers = true

  init() throws(ContentDecodingFailure) {
    guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { throw .noMemory }
    self.state = state
  }

  deinit { BrotliDecoderDestroyInstance(state) }

  /// One stream is the whole.
  func beginsMember(_ byte: UInt8) -> Bool { false }

  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress {
    isBetweenMembers = false
    var available = input.count
    var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var room = output.count
    var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = BrotliDecoderDecompressStream(state, &available, &next, &room, &target, nil)
    switch result {
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
    case BROTLI_DECODER_RESULT_SUCCESS: isBetweenMembers = true
    default: throw failure
    }
    return ContentDecodingProgress(consumed: input.count - available, produced: output.count - room)
  }

  private var failure: ContentDecodingFailure {
    let code = BrotliDecoderGetErrorCode(state)
    // The library's numbers for want of memory (brotli/decode.h).
    if (-30 ... -21).contains(code.rawValue) { return .noMemory }
    return .corrupt("brotli says \(BrotliDecoderErrorString(code).map { String(cString: $0) } ?? "error")")
  }
}
