import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct ReadAheadQueueTests {
  private func piece(_ text: String, capacity: Int) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: capacity)
    bytes.writeString(text)
    return bytes
  }

  private func drain(_ queue: inout ReadAheadQueue) -> String {
    var text = ""
    while let bytes = queue.popFirst() { text += String(buffer: bytes) }
    return text
  }

  @Test func tinyPiecesDoNotKeepTheirBuffersAlive() {
    var queue = ReadAheadQueue()
    var expected = ""
    for number in 0..<10_000 {
      let text = "\(number % 10)"
      expected += text
      queue.append(piece(text, capacity: 4096))
    }
    #expect(queue.heldBytes < 64 * 1024)
    #expect(drain(&queue) == expected && queue.heldBytes == 0 && queue.isEmpty)
  }

  @Test func fullPiecesAreNotCopied() {
    var queue = ReadAheadQueue()
    let full = piece(String(repeating: "x", count: 4096), capacity: 4096)
    queue.append(full)
    queue.append(full)
    #expect(queue.heldBytes == 2 * full.storageCapacity)
    #expect(queue.popFirst() == full && queue.popFirst() == full && queue.popFirst() == nil)
  }

  @Test func aFewBytesAreCopiedOutOfALargeBuffer() {
    var queue = ReadAheadQueue(piece("a few", capacity: 512 * 1024))
    #expect(queue.heldBytes >= 512 * 1024)
    queue.compact()
    #expect(queue.heldBytes < 64)
    queue.append(piece(" more", capacity: 512 * 1024))
    #expect(queue.heldBytes < 64 && drain(&queue) == "a few more")
  }

  @Test func whatIsPutBackIsReadFirst() {
    var queue = ReadAheadQueue(piece("world", capacity: 8))
    queue.prepend(piece("hello ", capacity: 8))
    queue.append(piece("!", capacity: 4096))
    #expect(drain(&queue) == "hello world!" && queue.heldBytes == 0)
    queue.append(piece("gone", capacity: 8))
    queue.removeAll()
    #expect(queue.isEmpty && queue.heldBytes == 0)
  }

  /// Whatever is read, put back and joined in between: the bytes come in order, and what is counted is what is held.
  @Test(arguments: 1...20) func anySequenceKeepsTheBytes(seed: UInt64) {
    var random = seed &* 0x9e37_79b9_7f4a_7c15
    func next(_ bound: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % bound
    }
    var queue = ReadAheadQueue()
    var written: [UInt8] = []
    var read: [UInt8] = []
    for _ in 0..<2_000 {
      switch next(4) {
      case 0, 1:
        let bytes = (0..<(next(4) == 0 ? 3_000 : 1 + next(10))).map { _ in UInt8(next(256)) }
        written += bytes
        var buffer = ByteBufferAllocator().buffer(capacity: bytes.count + next(2) * 40_000)
        buffer.writeBytes(bytes)
        queue.append(buffer)
      case 2:
        guard var bytes = queue.popFirst() else { continue }
        let taken = bytes.readSlice(length: next(bytes.readableBytes + 1)) ?? ByteBuffer()
        read += Array(taken.readableBytesView)
        if bytes.readableBytes > 0 { queue.prepend(bytes) }
      default: queue.compact()
      }
    }
    while let bytes = queue.popFirst() { read += Array(bytes.readableBytesView) }
    #expect(read == written && queue.heldBytes == 0)
  }

  /// TLS reads into the same memory again where no other refers to it, and copies all of it otherwise.
  @Test func largeMemoryOfTLSIsLetGoOf() {
    var bytes = ByteBufferAllocator().buffer(capacity: 512 * 1024)
    bytes.writeRepeatingByte(7, count: 300 * 1024)
    let address = bytes.withUnsafeReadableBytes { $0.baseAddress }
    let kept = bytes.leavingMemoryOfTLS()
    bytes.clear()
    bytes.writeInteger(UInt8(8))
    #expect(bytes.withUnsafeReadableBytes { $0.baseAddress } == address)
    #expect(kept.readableBytes == 300 * 1024 && kept.readableBytesView.allSatisfy { $0 == 7 })
    let small = piece("a response", capacity: 16 * 1024)
    let same = small.leavingMemoryOfTLS()
    #expect(
      same.withUnsafeReadableBytes { $0.baseAddress } == small.withUnsafeReadableBytes { $0.baseAddress })
  }
}
