import Foundation

extension [UInt8] {
  /// Zeroes bytes that hold a password, before their memory is given back. To be called on the only copy: a shared one
  /// would be copied first.
  mutating func overwrite() {
    withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      // The C library's own: the compiler does not remove it, although nothing reads the memory afterwards.
      explicit_bzero(start, bytes.count)
    }
  }
}
