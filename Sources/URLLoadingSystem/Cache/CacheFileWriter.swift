import Crypto
import Dispatch
import Foundation
import HTTPSemantics
import NIOCore
import SystemServices

/// Writes a body into a new file, block by block. Confined to the queue of its disk cache. Until the item is in the index
/// the file has no owner, and a later run removes it.
final class CacheFileWriter {
  private let path: String
  private let queue: DispatchQueue
  private var file: (any DurableFile)?
  private var length: Int64 = 0
  private var digests: [UInt8] = []
  /// The digest of the block that is being written, and how much of it there is.
  private var hash = SHA256()
  private var blockLength = 0

  init(_ path: String, on queue: DispatchQueue) throws {
    self.path = path
    self.queue = queue
    file = try LinuxFileSystem().open(path)
  }

  func write(_ bytes: ByteBuffer) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let file else { return }
    try bytes.withUnsafeReadableBytes { try file.write($0, at: length) }
    length += Int64(bytes.readableBytes)
    var rest = bytes
    while let piece = rest.readSlice(length: min(rest.readableBytes, CacheFile.blockLength - blockLength)),
      piece.readableBytes > 0
    {
      piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
      blockLength += piece.readableBytes
      if blockLength == CacheFile.blockLength { endBlock() }
    }
  }

  private func endBlock() {
    digests += Array(hash.finalize()).prefix(CacheFile.digestLength)
    hash = SHA256()
    blockLength = 0
  }

  /// The digests of all that was written.
  func finish() throws -> (length: Int64, digests: [UInt8]) {
    dispatchPrecondition(condition: .onQueue(queue))
    if blockLength > 0 { endBlock() }
    try file?.close()
    file = nil
    return (length, digests)
  }

  func abandon() {
    dispatchPrecondition(condition: .onQueue(queue))
    try? file?.close()
    file = nil
    try? LinuxFileSystem().remove(path)
  }
}
