import Glibc
import HTTPSemantics
import NIOCore

/// The head of a response that came twice, and its bytes: many servers answer several requests with the same head. For the loop
/// of a pool, whose connections share it.
package final class HTTP1ResponseMemory {
  private struct Kept {
    let head: HTTPResponseHead
    let bytes: [UInt8]
  }

  private var kept: Kept?
  /// A number made of the bytes of the last head that was parsed. Most heads do not come again: no more is kept of these.
  private var lastSum: UInt64 = 0

  private static let longestHead = 2_048

  package init() {}

  /// The head that `input` begins with, and its length, where it is the one in memory byte for byte.
  func head(of input: UnsafeRawBufferPointer) -> (HTTPResponseHead, length: Int)? {
    guard let kept, input.count >= kept.bytes.count, let start = input.baseAddress else { return nil }
    guard memcmp(kept.bytes, start, kept.bytes.count) == 0 else { return nil }
    return (kept.head, kept.bytes.count)
  }

  /// Keeps the head where the one before it had the same bytes.
  ///
  /// - Parameter input: The bytes that the head was parsed from, from the first one to the empty line.
  func parsed(_ head: HTTPResponseHead, from input: UnsafeRawBufferPointer) {
    let sum = HTTP1ResponseMemory.sum(of: input)
    defer { lastSum = sum }
    guard sum == lastSum, input.count <= HTTP1ResponseMemory.longestHead, head.mayBeKept else { return }
    kept = Kept(head: head, bytes: Array(input))
  }

  /// Of heads that differ it may be the same, though hardly ever.
  private static func sum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum = UInt64(bytes.count)
    var index = 0
    while index + 8 <= bytes.count {
      sum = (sum ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
      sum ^= sum >> 32
      index += 8
    }
    while index < bytes.count {
      sum = (sum ^ UInt64(bytes[index])) &* 0x9E37_79B9_7F4A_7C15
      index += 1
    }
    return sum
  }
}
