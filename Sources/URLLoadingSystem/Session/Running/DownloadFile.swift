import Foundation
import Glibc
import NIOCore

/// A temporary file being written, closed when the last write is over. Everything here blocks.
final class DownloadFile: Sendable {
  let url: URL
  private let descriptor: Int32

  /// - Parameter descriptor: open for writing, and closed by the file from now on.
  init(descriptor: Int32, url: URL) {
    self.descriptor = descriptor
    self.url = url
  }

  deinit { close(descriptor) }

  static func create() throws -> DownloadFile {
    let (descriptor, url) = try TemporaryFile.create()
    return DownloadFile(descriptor: descriptor, url: url)
  }

  /// The file that an earlier download left. Throws when another download is writing it.
  static func reopen(_ data: DownloadResumeData) throws -> DownloadFile {
    let (descriptor, url) = try TemporaryFile.open(named: data.fileName, size: data.bytesReceived)
    return DownloadFile(descriptor: descriptor, url: url)
  }

  /// Writes all of `pieces` one after the other from `offset` on.
  func write(_ pieces: [ByteBuffer], at offset: Int64) throws {
    // The addresses stay good as long as `pieces` is not released.
    var vectors = pieces.map { piece in
      piece.withUnsafeReadableBytesWithStorageManagement { bytes, _ in
        iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      }
    }[...]
    var place = offset
    try withExtendedLifetime(pieces) {
      while !vectors.isEmpty {
        let count = vectors.withUnsafeBufferPointer {
          pwritev(descriptor, $0.baseAddress, Int32($0.count), off_t(place))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure() }
        place += Int64(count)
        DownloadFile.drop(count, from: &vectors)
      }
    }
  }

  func truncate(to size: Int64) throws {
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw failure() }
  }

  /// Lets another download go on with the file.
  func unlock() { _ = flock(descriptor, LOCK_UN) }

  /// Takes the first `count` bytes away, which have been written.
  private static func drop(_ count: Int, from vectors: inout ArraySlice<iovec>) {
    var count = count
    while let first = vectors.first, first.iov_len <= count {
      count -= first.iov_len
      vectors.removeFirst()
    }
    guard count > 0, let first = vectors.first else { return }
    vectors[vectors.startIndex] = iovec(iov_base: first.iov_base + count, iov_len: first.iov_len - count)
  }

  private func failure() -> URLError {
    let reason = String(cString: strerror(errno))
    return ErrorMapping.make(
      .cannotWriteToFile, because: "The download could not be written to \(url.path): \(reason).")
  }
}
