import CLinux

/// The memory that the heap of this process has free.
package enum FreeMemory {
  /// How large a block the heap is to be prepared for: a few times that of a large read. Up to twice as many bytes stay free at
  /// the end of a thread's heap.
  private static let blockSize = 2 * 1024 * 1024

  /// From the first call on the heap keeps the memory of large pieces for the next ones: bodies come in pieces that are freed
  /// one after the other, and the end of the heap would be given back to the kernel each time, to be filled with zeros again.
  package static func keepForLargePieces() { _ = isKept }

  /// Once a process.
  private static let isKept: Bool = {
    clinux_keep_free_memory(blockSize)
    return true
  }()
}
