import Foundation

/// The disk.
package struct LinuxFileSystem: DurableFileSystem {
  package init() {}

  package func open(_ path: String) throws -> any DurableFile {
    // O_NOFOLLOW: nothing that we write is ever reached by a symbolic link, so a link is somebody's trick.
    let descriptor = try checked("open", path: path) {
      Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    return LinuxFile(descriptor: descriptor, path: path)
  }

  package func size(of path: String) throws -> Int64? {
    var status = stat()
    do {
      _ = try checked("stat", path: path) { lstat(path, &status) }
    } catch let error as SystemError where error.isNotFound {
      return nil
    }
    return Int64(status.st_size)
  }

  package func rename(_ source: String, to destination: String) throws {
    _ = try checked("rename", path: source) { Glibc.rename(source, destination) }
  }

  package func link(_ source: String, to destination: String) throws {
    do {
      _ = try checked("link", path: source) { Glibc.link(source, destination) }
    } catch let error as SystemError where [EPERM, EOPNOTSUPP, EMLINK, ENOSYS, EXDEV].contains(error.code) {
      try copy(source, to: destination)
    }
  }

  package func remove(_ path: String) throws {
    do {
      _ = try checked("unlink", path: path) { unlink(path) }
    } catch let error as SystemError where error.isNotFound {}
  }

  package func syncDirectory(_ path: String) throws {
    let descriptor = try checked("open", path: path) { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { _ = Glibc.close(descriptor) }
    _ = try checked("fsync", path: path) { fsync(descriptor) }
  }

  package func createDirectory(_ path: String) throws {
    if mkdir(path, 0o700) == 0 { return }
    let code = errno
    switch code {
    case EEXIST: return
    case ENOENT:
      let parent = (path as NSString).deletingLastPathComponent
      guard parent != path, !parent.isEmpty else { throw SystemError(code, "mkdir", path: path) }
      try createDirectory(parent)
      if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemError(errno, "mkdir", path: path) }
      try? syncDirectory(parent)
    default: throw SystemError(code, "mkdir", path: path)
    }
  }

  package func names(in directory: String) throws -> [String] {
    guard let stream = opendir(directory) else {
      let error = SystemError(errno, "opendir", path: directory)
      if error.isNotFound { return [] }
      throw error
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
          String(cString: $0)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  package func freeSpace(at path: String) throws -> Int64 {
    var status = statvfs()
    _ = try checked("statvfs", path: path) { statvfs(path, &status) }
    let (bytes, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: status.f_frsize))
    return overflow ? .max : bytes
  }

  private func copy(_ source: String, to destination: String) throws {
    let input = try checked("open", path: source) { Glibc.open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    defer { _ = Glibc.close(input) }
    let output = try checked("open", path: destination) {
      Glibc.open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    defer { _ = Glibc.close(output) }
    do {
      while try checked("sendfile", path: destination, { sendfile(output, input, nil, 8 << 20) }) > 0 {}
    } catch {
      _ = unlink(destination)
      throw error
    }
  }
}

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

  func sync() throws {
    _ = try checked("fdatasync", path: path) { fdatasync(descriptor) }
  }

  func close() throws {
    // Not repeated after EINTR: on Linux the descriptor is gone in any case.
    if Glibc.close(descriptor) != 0, errno != EINTR { throw SystemError(errno, "close", path: path) }
  }
}
