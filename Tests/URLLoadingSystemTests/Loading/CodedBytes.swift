import CBrotliEncoder
import CZlib
import CZstd

/// Bytes as a server would send them under a content coding. The encoders are the ones that servers use.
enum CodedBytes: String, CaseIterable, Sendable {
  case gzip, zlib, rawDeflate, brotli, zstd

  /// The name in Content-Encoding.
  var coding: String {
    switch self {
    case .gzip: "gzip"
    case .zlib, .rawDeflate: "deflate"
    case .brotli: "br"
    case .zstd: "zstd"
    }
  }

  func encode(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .gzip: CodedBytes.deflate(bytes, windowBits: 31)
    case .zlib: CodedBytes.deflate(bytes, windowBits: 15)
    case .rawDeflate: CodedBytes.deflate(bytes, windowBits: -15)
    case .brotli: CodedBytes.brotli(bytes)
    case .zstd: CodedBytes.zstd(bytes)
    }
  }

  private static func deflate(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
      &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = bytes
    return collect(capacity: bytes.count + 1024) { target in
      input.withUnsafeMutableBufferPointer { source in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        CZlib.deflate(&stream, Z_FINISH)
        return target.count - Int(stream.avail_out)
      }
    }
  }

  private static func brotli(_ bytes: [UInt8]) -> [UInt8] {
    collect(capacity: BrotliEncoderMaxCompressedSize(bytes.count) + 16) { target in
      var size = target.count
      let done = BrotliEncoderCompress(
        5, 22, BROTLI_MODE_GENERIC, bytes.count, bytes.isEmpty ? [0] : bytes, &size, target.baseAddress)
      return done == 1 ? size : 0
    }
  }

  private static func zstd(_ bytes: [UInt8]) -> [UInt8] {
    collect(capacity: ZSTD_compressBound(bytes.count)) { target in
      ZSTD_compress(target.baseAddress, target.count, bytes, bytes.count, 3)
    }
  }

  /// A frame whose decoder needs a window of 2 to the power of `windowLog` bytes.
  static func zstd(_ bytes: [UInt8], windowLog: Int32) -> [UInt8] {
    let context = ZSTD_createCCtx()
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLog)
    return collect(capacity: ZSTD_compressBound(bytes.count) + 64) { target in
      bytes.withUnsafeBytes { source in
        var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
        // In two steps: an encoder that knows the length makes the window no larger than that.
        ZSTD_compressStream2(context, &output, &input, ZSTD_e_continue)
        ZSTD_compressStream2(context, &output, &input, ZSTD_e_end)
        return output.pos
      }
    }
  }

  private static func collect(
    capacity: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in count = fill(buffer) }
  }
}
