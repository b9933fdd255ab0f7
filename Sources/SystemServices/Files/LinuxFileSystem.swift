import Foundation

/// The disk.
package struct LinuxFileSystem: DurableFileSystem {
  package init() {}

  package func open(_ path: String) throws -> any DurableFile {
    // O_NOFOLLOW: no path that is written to has a symbolic link at its end, so a link there is an attack.
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
    } catch let error as SystemError where LinuxFileSystem.noLink.contains(error.code) {
      try copy(source, to: destination)
    }
  }

  /// The errors of a file system that can't make that hard link.
  package static let noLink: Set<Int32> = [EPERM, EOPNOTSUPP, EMLINK, ENOSYS, EXDEV]

  package func link(_ file: SourceFile, to destination: String) throws -> Bool {
    do {
      // open(2): without privileges this is the way from a descriptor to a name.
      _ = try checked("linkat", path: destination) {
        linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, destination, AT_SYMLINK_FOLLOW)
      }
      return true
    } catch let error as SystemError where LinuxFileSystem.noLink.contains(error.code) { return false }
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
    return try LinuxFileSystem.names(in: directory) { readdir(stream) }
  }

  /// - Parameter next: as readdir(3), which tells the end of the folder from a disk that fails by `errno` alone.
  static func names(in directory: String, _ next: () -> UnsafeMutablePointer<dirent>?) throws -> [String] {
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = next() else {
        let code = errno
        guard code == 0 else { throw SystemError(code, "readdir", path: directory) }
        return names.sorted()
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
          String(cString: $0)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  package func freeSpace(at path: String) throws -> Int64 {
    var status = statvfs()
    _ = try checked("statvfs", path: path) { statvfs(path, &status) }
    let (bytes, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: status.f_frsize))
    return overflow ? .max : bytes
  }

  /// On the disk when it returns, as the content of a file that gets a second name may be.
  func copy(_ source: String, to destination: String, sync: (Int32) -> Int32 = fsync) throws {
    let input = try checked("open", path: source) { Glibc.open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    defer { _ = Glibc.close(input) }
    let output = try checked("open", path: destination) {
      Glibc.open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    defer { _ = Glibc.close(output) }
    do {
      while try checked("sendfile", path: destination, { sendfile(output, input, nil, 8 << 20) }) > 0 {}
      try copyDate(of: input, to: output, path: destination)
      _ = try checked("fsync", path: destination) { sync(output) }
    } catch {
      _ = unlink(destination)
      throw error
    }
  }
}
