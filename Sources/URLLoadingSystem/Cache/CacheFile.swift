import Crypto
import Foundation
import NIOCore

/// A body in a file of its own, and the digests of its blocks. The file never changes once it has its name.
struct CacheFile: Sendable {
  let descriptor: CacheFileDescriptor
  let length: Int64
  /// One after the other.
  let digests: [UInt8]

  static let blockLength = 64 * 1024
  static let digestLength = 16

  static func digest(_ block: ByteBuffer) -> ArraySlice<UInt8> {
    var hash = SHA256()
    block.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    return Array(hash.finalize()).prefix(digestLength)
  }

  /// Reads the whole blocks that hold the bytes from `offset` on, at most four, and gives what they hold from there to
  /// `end`. Blocks.
  /// - Throws: `Damage` when the bytes are not the ones that were written.
  func read(from offset: Int64, to end: Int64) throws(Damage) -> ByteBuffer {
    let block = Int64(CacheFile.blockLength)
    let start = offset / block * block
    let stop = min(length, start + 4 * block)
    var bytes = ByteBufferAllocator().buffer(capacity: Int(stop - start))
    let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(stop - start)) { space in
      descriptor.read(UnsafeMutableRawBufferPointer(rebasing: space.prefix(Int(stop - start))), at: start)
    }
    guard count == Int(stop - start) else { throw Damage() }
    var index = Int(start / block) * CacheFile.digestLength
    var rest = bytes
    while let piece = rest.readSlice(length: min(rest.readableBytes, CacheFile.blockLength)), piece.readableBytes > 0 {
      guard index + CacheFile.digestLength <= digests.count,
        CacheFile.digest(piece).elementsEqual(digests[index..<(index + CacheFile.digestLength)])
      else { throw Damage() }
      index += CacheFile.digestLength
    }
    bytes.moveReaderIndex(forwardBy: Int(offset - start))
    if let kept = bytes.readSlice(length: min(bytes.readableBytes, Int(end - offset))) { return kept }
    throw Damage()
  }

  struct Damage: Error {}
}
