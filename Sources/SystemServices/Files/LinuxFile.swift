import CLinux
import Foundation

/// An open file on the disk.
final class LinuxFile: DurableFile {
  private let descriptor: Int32
  private let path: String

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  var size: Int64 {
    get throws {
      var status = stat()
      _ = try checked("fstat", path: path) { fstat(descriptor, &status) }
      return Int64(status.st_size)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
      written += try checked("write", path: path) {
        pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
      }
    }
  }

  func truncate(to size: Int64) throws {
    _ = try checked("ftruncate", path: path) { ftruncate(descriptor, off_t(size)) }
  }

  func reserve(_ count: Int64) throws {
    do {
      _ = try checked("fallocate", path: path) { clinux_reserve(descriptor, count) }
    } catch let error as SystemError where [EOPNOTSUPP, ENOSYS].contains(error.code) {}
  }

  func sync() throws {
    _ = try checked("fdatasync", path: path) { fdatasync(descriptor) }
  }

  func close() throws {
    // Not repeated after EINTR: on Linux the descriptor is gone in any case.
    if Glibc.close(descriptor) != 0, errno != EINTR { throw SystemError(errno, "close", path: path) }
  }
}
