import NIOCore

/// The masking of RFC 6455 §5.3: every byte is combined by exclusive or with one of the key's four.
enum WebSocketMask {
  /// Appends `payload`, masked. Eight bytes at a time: the key repeats twice in a word.
  static func append(_ payload: ByteBufferView, key: UInt32, to out: inout ByteBuffer) {
    // In memory the key's first byte comes first, on machines of either byte order.
    let half = UInt64(key.bigEndian)
    let word = half << 32 | half
    out.writeWithUnsafeMutableBytes(minimumWritableBytes: payload.count) { target in
      payload.withUnsafeBytes { source in
        var index = 0
        while index &+ 8 <= source.count {
          let bytes = source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          target.storeBytes(of: bytes ^ word, toByteOffset: index, as: UInt64.self)
          index &+= 8
        }
        while index < source.count {
          let keyByte = UInt8(truncatingIfNeeded: key >> UInt32(24 - 8 * (index & 3)))
          target[index] = source[index] ^ keyByte
          index &+= 1
        }
        return source.count
      }
    }
  }
}
