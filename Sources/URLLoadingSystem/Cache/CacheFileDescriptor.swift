import Foundation

/// An open file of the cache, closed with its last user.
final class CacheFileDescriptor: Sendable {
  private let number: Int32

  /// nil when there is no such file, or it can't be read.
  init?(_ path: String) {
    number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if number < 0 { return nil }
  }

  deinit { _ = close(number) }

  var length: Int64? {
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(status.st_size)
  }

  /// As many bytes as there are.
  func read(_ space: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    var count = 0
    while count < space.count {
      let read = pread(number, space.baseAddress.map { $0 + count }, space.count - count, off_t(offset) + off_t(count))
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { break }
      count += read
    }
    return count
  }
}
