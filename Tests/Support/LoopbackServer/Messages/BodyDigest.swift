/// A 64-bit digest of a stream of bytes that does not depend on how the stream was sliced. For telling bodies apart in
/// tests, eight bytes at a time so that it keeps up in a debug build; not for anything an attacker may touch.
package struct BodyDigest: Sendable {
  private var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  private var partial: UInt64 = 0
  private var partialCount: UInt64 = 0
  private var count: UInt64 = 0

  package init() {}

  package var value: UInt64 {
    var end = self
    end.mix(partial)
    end.mix(count)
    return end.hash
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count &+= UInt64(bytes.count)
    var position = 0
    while partialCount != 0 && position < bytes.count {
      add(bytes[position])
      position += 1
    }
    var hash = self.hash
    while position &+ 8 <= bytes.count {
      hash = Self.mixed(hash, bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian)
      position &+= 8
    }
    self.hash = hash
    while position < bytes.count {
      add(bytes[position])
      position += 1
    }
  }

  private mutating func add(_ byte: UInt8) {
    partial |= UInt64(byte) << (8 * partialCount)
    partialCount += 1
    guard partialCount == 8 else { return }
    mix(partial)
    partial = 0
    partialCount = 0
  }

  private mutating func mix(_ word: UInt64) {
    hash = Self.mixed(hash, word)
  }

  private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* 0x9e37_79b9_7f4a_7c15
    return product ^ (product >> 29)
  }
}
