import Crypto
import Foundation

/// The layout of a file that is sealed in chunks, so that any part of it can be read alone.
///
/// Each chunk of 64 KiB is sealed by AES-GCM, with its tag behind it. The key is made for the one file and seals nothing else, so
/// the nonce is the number of the chunk, with a mark for the last one. A chunk that was changed, or is another one's or
/// another file's, does not open, and where a file was cut the chunk that is the last one now does not open as the last. A file
/// without bytes has one chunk without bytes.
struct SealedChunks: Sendable {
  static let length = 64 << 10
  /// Of the tag.
  static let overhead = 16
  static let keyLength = 32

  /// How many bytes the file has, without what sealing adds.
  let count: Int64
  private let key: SymmetricKey

  struct Damaged: Error {}

  init(key: SymmetricKey, count: Int64) {
    self.key = key
    self.count = max(0, count)
  }

  var lastIndex: Int64 { max(0, count - 1) / Int64(SealedChunks.length) }

  /// How many bytes the sealed file has.
  var sealedCount: Int64 { count.saturatingAdd((lastIndex + 1) * Int64(SealedChunks.overhead)) }

  static func index(of offset: Int64) -> Int64 { offset / Int64(length) }

  /// The place of a chunk's first byte.
  static func start(of index: Int64) -> Int64 { index * Int64(length) }
  static func sealedStart(of index: Int64) -> Int64 { index * Int64(length + overhead) }

  /// How many bytes a chunk has, without the tag.
  func length(of index: Int64) -> Int {
    index < lastIndex ? SealedChunks.length : Int(count - SealedChunks.start(of: lastIndex))
  }

  /// - Parameter chunk: `length(of: index)` bytes.
  /// - Returns: the sealed bytes, and the tag.
  func seal(_ chunk: UnsafeRawBufferPointer, _ index: Int64) throws -> AES.GCM.SealedBox {
    try AES.GCM.seal(chunk, using: key, nonce: nonce(index))
  }

  /// - Parameter sealed: the sealed bytes with the tag.
  func open(_ sealed: UnsafeRawBufferPointer, _ index: Int64) throws -> Data {
    guard sealed.count == length(of: index) + SealedChunks.overhead else { throw Damaged() }
    let content = UnsafeRawBufferPointer(rebasing: sealed.dropLast(SealedChunks.overhead))
    let tag = UnsafeRawBufferPointer(rebasing: sealed.suffix(SealedChunks.overhead))
    do {
      let box = try AES.GCM.SealedBox(nonce: nonce(index), ciphertext: content, tag: tag)
      return try AES.GCM.open(box, using: key)
    } catch { throw Damaged() }
  }

  private func nonce(_ index: Int64) throws -> AES.GCM.Nonce {
    let number = withUnsafeBytes(of: UInt64(bitPattern: index).bigEndian) { Array($0) }
    return try AES.GCM.Nonce(data: [0, 0, 0, index == lastIndex ? 1 : 0] + number)
  }
}
