import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct PieceBatchTests {
  /// One byte of a receive buffer of 4 KiB, as a server that sends single bytes causes them.
  private func byteOfLargeStorage(_ byte: UInt8, capacity: Int) -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: capacity)
    buffer.writeInteger(byte)
    return buffer
  }

  private func bytes(_ pieces: [ByteBuffer]) -> [UInt8] { pieces.flatMap { Array($0.readableBytesView) } }

  @Test(arguments: [4 * 1024, 512 * 1024]) func smallPiecesDoNotKeepTheirStorageAlive(capacity: Int) {
    var batch = PieceBatch()
    for index in 0..<10_000 { batch.append(byteOfLargeStorage(UInt8(truncatingIfNeeded: index), capacity: capacity)) }
    #expect(batch.count == 10_000)
    #expect(batch.pieces.count == 1)
    #expect(batch.storageSize <= 32 * 1024)
    #expect(bytes(batch.pieces) == (0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
  }

  @Test func largePiecesAreNotCopied() {
    var batch = PieceBatch()
    let piece = ByteBuffer(repeating: 7, count: 64 * 1024)
    batch.append(piece)
    let address = piece.withUnsafeReadableBytes { $0.baseAddress }
    #expect(batch.pieces.first?.withUnsafeReadableBytes { $0.baseAddress } == address)
  }

  @Test func orderIsKeptWhenSmallAndLargeAlternate() {
    var batch = PieceBatch()
    var expected: [UInt8] = []
    for index in 0..<40 {
      let size = index.isMultiple(of: 2) ? 1 : 8192
      let piece = ByteBuffer(repeating: UInt8(index), count: size)
      expected += Array(piece.readableBytesView)
      batch.append(piece)
    }
    #expect(batch.count == expected.count)
    #expect(bytes(batch.take()) == expected)
    #expect(batch.isEmpty && batch.pieces.isEmpty)
  }

  /// A slice of which most of the storage is not used is copied, however large.
  @Test func aSliceOfALargerStorageIsCopied() throws {
    var whole = ByteBuffer(repeating: 1, count: 1 << 20)
    let part = whole.readSlice(length: 100_000)
    let slice = try #require(part)
    var batch = PieceBatch()
    batch.append(slice)
    #expect(batch.storageSize < 300_000)
  }

  @Test func joinedPiecesStayBounded() {
    var batch = PieceBatch()
    for _ in 0..<300 { batch.append(ByteBuffer(repeating: 1, count: 4000)) }
    #expect(batch.pieces.allSatisfy { $0.readableBytes <= 256 * 1024 })
    #expect(batch.pieces.count == 5)
    #expect(batch.storageSize <= 2 * batch.count)
  }
}
