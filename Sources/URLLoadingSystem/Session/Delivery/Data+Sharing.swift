import Foundation
import NIOCore

extension Data {
  /// The readable bytes of `buffer`: shared when that saves a large copy and does not keep alive much more memory
  /// than it shows, else copied.
  init(sharing buffer: ByteBuffer) {
    let count = buffer.readableBytes
    guard count > 16 * 1024, count * 2 >= buffer.storageCapacity else {
      self = buffer.withUnsafeReadableBytes { Data($0) }
      return
    }
    self = buffer.withUnsafeReadableBytesWithStorageManagement { bytes, storage in
      guard let start = bytes.baseAddress else { return Data() }
      _ = storage.retain()
      return Data(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: count,
        deallocator: .custom { _, _ in storage.release() })
    }
  }
}
