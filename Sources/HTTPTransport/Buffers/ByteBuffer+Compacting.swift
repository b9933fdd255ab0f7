import NIOCore

extension ByteBuffer {
  /// Whether it keeps more than twice the memory alive that its readable bytes take.
  package var isSparse: Bool { readableBytes * 2 < storageCapacity }

  /// A copy of the readable bytes in a buffer of their size.
  package func compacted() -> ByteBuffer {
    var copy = ByteBufferAllocator().buffer(capacity: readableBytes)
    copy.writeImmutableBuffer(self)
    return copy
  }
}
