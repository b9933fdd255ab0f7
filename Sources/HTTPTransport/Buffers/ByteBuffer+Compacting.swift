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

  /// A copy, where the bytes are in a large buffer of SwiftNIO's TLS handler; otherwise the same buffer.
  ///
  /// The handler reads into the same memory again where no other refers to it, and otherwise copies it first: all of its capacity,
  /// also where nothing is left in it. The capacity is up to four times what one read brings, so that a copy of the bytes takes
  /// less time and less memory.
  func leavingMemoryOfTLS() -> ByteBuffer { storageCapacity > ByteBuffer.largeCapacityOfTLS ? compacted() : self }

  private static let largeCapacityOfTLS = 32 * 1024
}
