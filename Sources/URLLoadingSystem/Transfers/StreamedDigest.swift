import Crypto
import Foundation
import Glibc
import HTTPTransport

/// The SHA-256 of the beginning of a file, read in pieces so that memory stays flat and the reader can stop in between.
package struct StreamedDigest: Sendable {
  private var hash = SHA256()
  /// How many bytes it covers.
  package private(set) var count: Int64 = 0

  /// How many bytes to add at a time: some tenths of a second of work.
  package static let sliceLength: Int64 = 64 << 20
  private static let pieceLength = 1 << 20

  package init() {}

  /// The digest of one slice more, up to `end`. Blocks.
  ///
  /// - Throws: a `Failure` with the number of the system's error; `EIO` where the file ends before `end`.
  package func addingSlice(ofFileAt path: String, upTo end: Int64) throws -> StreamedDigest {
    BlockingWork.assertMayBlock()
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw Failure(code: errno, path: path) }
    defer { _ = Glibc.close(descriptor) }
    var digest = self
    let end = min(end, count + Self.sliceLength)
    var piece = [UInt8](repeating: 0, count: Self.pieceLength)
    while digest.count < end {
      let wanted = min(piece.count, Int(clamping: end - digest.count))
      let read = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, wanted, off_t(digest.count)) }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw Failure(code: read < 0 ? errno : EIO, path: path) }
      piece.withUnsafeBytes { digest.hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<read])) }
      digest.count += Int64(read)
    }
    return digest
  }

  /// 32 bytes.
  package var value: Data { Data(hash.finalize()) }

  /// The file can't be read.
  package struct Failure: Error {
    package let code: Int32
    package let path: String
  }
}
