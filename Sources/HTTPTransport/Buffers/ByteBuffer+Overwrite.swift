import Foundation
import NIOCore

extension ByteBuffer {
  /// Zeroes what there is to read, in the memory itself: also for the buffers that share it. To be called once the kernel
  /// has the bytes, which a password is among; nothing reads the buffer, or a copy of it, any more.
  package func overwriteStorage() {
    withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}
