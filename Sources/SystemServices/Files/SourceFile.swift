import Foundation

/// A file that is open for reading, whatever becomes of its name. Closed with its last owner.
package final class SourceFile: Sendable {
  package let descriptor: Int32
  private let isFromElsewhere: Bool

  /// - Parameter isFromElsewhere: whether another process has opened it. To close a file of a file system that hangs may
  ///   wait for ever, so such a file is closed on a thread that may.
  package init(owning descriptor: Int32, isFromElsewhere: Bool = false) {
    self.descriptor = descriptor
    self.isFromElsewhere = isFromElsewhere
  }

  deinit {
    let descriptor = self.descriptor
    guard isFromElsewhere else {
      _ = Glibc.close(descriptor)
      return
    }
    SourceFile.closing.start { _ = Glibc.close(descriptor) }
  }

  /// Some dozens may hang before other files stay open with them.
  private static let closing = BlockingCalls(name: "source-files", width: 64)

  /// Opens a regular file and nothing else: to open a named pipe or a device waits, or does something to it. Blocks.
  ///
  /// - Throws: `SystemError`: EISDIR for a folder, EINVAL for what is no file.
  package static func open(_ path: String) throws -> SourceFile {
    var status = stat()
    _ = try checked("stat", path: path) { stat(path, &status) }
    try check(status, path: path)
    let file = SourceFile(
      owning: try checked("open", path: path) {
        Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
      })
    // It may be another one by now.
    _ = try file.regularStatus(path: path)
    return file
  }

  private static func check(_ status: stat, path: String?) throws {
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw SystemError(EISDIR, "open", path: path)
    default: throw SystemError(EINVAL, "open", path: path)
    }
  }

  /// Blocks as long as the file system hangs.
  ///
  /// - Throws: `SystemError` where it is no regular file.
  package func regularStatus(path: String? = nil) throws -> stat {
    var status = stat()
    _ = try checked("fstat", path: path) { fstat(descriptor, &status) }
    try SourceFile.check(status, path: path)
    return status
  }

  /// Whether its bytes may be read. A descriptor can be open for writing only, or for the sake of its place alone, which
  /// takes no permission to read. Does not block.
  package var isOpenForReading: Bool {
    let flags = fcntl(descriptor, F_GETFL)
    // O_PATH, which Glibc's module does not import for every machine.
    return flags >= 0 && flags & O_ACCMODE != O_WRONLY && flags & 0o10000000 == 0
  }

  /// The number of the mount that it is on, as the kernel has it: the file system itself is not asked, so this does not
  /// block. nil where it is not told.
  package var mount: Int? {
    let descriptor = Glibc.open("/proc/self/fdinfo/\(self.descriptor)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { _ = Glibc.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = max(0, Glibc.read(descriptor, &bytes, bytes.count))
    let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix("mnt_id:") }.flatMap { Int($0.dropFirst(7).filter { !$0.isWhitespace }) }
  }

  /// Whether the kernel tells its length as 0 though it has bytes, as it does of files that are made while they are read, such
  /// as those of `/proc`. Blocks.
  package func hasUntoldBytes() throws -> Bool {
    guard try regularStatus().st_size == 0 else { return false }
    var byte: [UInt8] = [0]
    do {
      guard try read(into: &byte, at: 0) > 0 else { return false }
    } catch let error as SystemError where error.code == EAGAIN {
      // Bytes are still to come.
      return true
    }
    // A file that another process has just begun to write has a length now.
    return try regularStatus().st_size == 0
  }

  /// Whether two files have the same bytes. Blocks.
  package func hasBytes(of other: SourceFile) throws -> Bool {
    let size = 1 << 20
    var (own, others) = ([UInt8](repeating: 0, count: size), [UInt8](repeating: 0, count: size))
    var offset: Int64 = 0
    while true {
      let count = try read(into: &own, at: offset)
      guard try other.read(into: &others, at: offset) == count, own[..<count] == others[..<count] else { return false }
      if count < size { return true }
      offset += Int64(count)
    }
  }

  private func read(into bytes: inout [UInt8], at offset: Int64) throws -> Int {
    try bytes.withUnsafeMutableBytes { try read(into: $0, at: offset) }
  }

  /// Fills `space` as far as the file goes. Returns how many bytes that is. Blocks.
  package func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    var count = 0
    while count < space.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: space[count...])
      let more = try checked("read") {
        pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(count))
      }
      if more == 0 { break }
      count += more
    }
    return count
  }
}
