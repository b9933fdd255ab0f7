import CLinux
import Foundation

extension LinuxFileSystem {
  package func clone(_ source: SourceFile, to destination: String) throws -> Bool {
    try making(destination) { output in
      if clinux_clone_file(source.descriptor, output) == 0 {
        try copyDate(of: source.descriptor, to: output, path: destination)
        return true
      }
      let code = errno
      guard [EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM, ETXTBSY].contains(code) else {
        throw SystemError(code, "ioctl", path: destination)
      }
      _ = unlink(destination)
      return false
    }
  }

  package func duplicate(_ source: SourceFile, count: Int64, to destination: String) throws -> Int64 {
    try making(destination) { output in
      // The offset of the descriptor belongs to the process that opened it as well.
      var offset: Int64 = 0
      while offset < count {
        let piece = Int(clamping: min(count - offset, 64 << 20))
        let copied = clinux_copy_range(source.descriptor, &offset, output, piece)
        if copied > 0 { continue }
        let code = errno
        if copied == 0 { break }
        if code == EINTR { continue }
        guard [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP].contains(code) else {
          throw failure(code, "copy_file_range", reading: source, at: offset, path: destination)
        }
        try send(source, from: &offset, upTo: count, to: output, path: destination)
        break
      }
      return offset
    }
  }

  /// Between two file systems of some kinds the kernel copies this way only.
  private func send(
    _ source: SourceFile, from offset: inout Int64, upTo count: Int64, to output: Int32, path: String
  ) throws {
    while offset < count {
      var place = off_t(offset)
      let sent = sendfile(output, source.descriptor, &place, Int(clamping: min(count - offset, 8 << 20)))
      let code = errno
      offset = Int64(place)
      if sent == 0 { return }
      if sent > 0 || code == EINTR { continue }
      throw failure(code, "sendfile", reading: source, at: offset, path: path)
    }
  }

  /// The kernel does not say which of the two files it is that fails. A fault of the source has no path.
  private func failure(
    _ code: Int32, _ operation: String, reading source: SourceFile, at offset: Int64, path: String
  ) -> SystemError {
    var byte: UInt8 = 0
    guard pread(source.descriptor, &byte, 1, off_t(offset)) >= 0 else { return SystemError(errno, "read") }
    return SystemError(code, operation, path: path)
  }

  func copyDate(of input: Int32, to output: Int32, path: String) throws {
    var status = stat()
    _ = try checked("fstat", path: path) { fstat(input, &status) }
    let times = [status.st_atim, status.st_mtim]
    _ = try checked("futimens", path: path) { futimens(output, times) }
  }

  /// Removes what is there of `destination` when `copy` fails.
  private func making<Value>(_ destination: String, _ copy: (Int32) throws -> Value) throws -> Value {
    let output = try checked("open", path: destination) {
      Glibc.open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    defer { _ = Glibc.close(output) }
    do { return try copy(output) } catch {
      _ = unlink(destination)
      throw error
    }
  }
}
