import Foundation
import Glibc
import Synchronization
import SystemServices

/// The files that downloads go to until the app takes them: in a folder of this user's own, which no other user can
/// look into or prepare.
package enum TemporaryFile {
  /// Made when first needed.
  static let directory: URL = makeDirectory()

  /// The folder in which it is made instead of the temporary one. A program of this package says so before it makes a session. nil:
  /// there.
  package static let base = Mutex<String?>(nil)

  /// Creates a new, empty file that only this user can read. Blocks.
  static func create(in directory: URL = directory) throws -> (descriptor: Int32, url: URL) {
    for _ in 0..<16 {
      let url = directory.appendingPathComponent(prefix + randomName() + suffix, isDirectory: false)
      let descriptor = Glibc.open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor >= 0 { return (descriptor, url) }
      guard errno == EEXIST else { break }
    }
    let reason = String(cString: strerror(errno))
    throw ErrorMapping.make(
      .cannotCreateFile, because: "No temporary file could be made in \(directory.path): \(reason).")
  }

  private static let prefix = "CFNetworkDownload_"
  private static let suffix = ".tmp"

  /// Whether `name` is one that `create` could have chosen: letters and digits between a prefix and a suffix, so no
  /// path, no `..` and no hidden file.
  static func isName(_ name: String) -> Bool {
    guard name.utf8.count <= 64, name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    return isRandom(name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count))
  }

  /// Whether file and folder are named as those of this library, in whatever program of this user. Looks at no file.
  package static func isPath(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count > 2, let name = parts.last, isName(String(name)) else { return false }
    let folder = parts[parts.count - 2]
    if folder == folderName { return true }
    return folder.hasPrefix(folderName + "-") && isRandom(folder.utf8.dropFirst(folderName.utf8.count + 1))
  }

  private static func isRandom(_ text: Substring.UTF8View) -> Bool {
    !text.isEmpty
      && text.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      }
  }

  /// Opens a file that `create` made earlier and that holds `size` bytes. The name comes from outside: nothing but a
  /// regular file of this user, in our folder and under no second name, is opened, and no file that is open already.
  /// Blocks.
  static func open(named name: String, size: Int64) throws -> (descriptor: Int32, url: URL) {
    guard isName(name) else { throw PartialFile.failure(name, "is not named as this library names such files") }
    let url = directory.appendingPathComponent(name, isDirectory: false)
    return (try PartialFile.open(url.path, size: size, isOurs: true), url)
  }

  /// Writes `data` to a new file and returns its name. Blocks.
  static func keep(_ data: Data) throws -> String {
    let (descriptor, url) = try create()
    close(descriptor)
    do { try data.write(to: url) } catch {
      remove(url)
      throw error
    }
    return url.lastPathComponent
  }

  /// Throws when `open(named:size:)` would. Blocks.
  static func check(_ name: String, size: Int64) throws { close(try open(named: name, size: size).descriptor) }

  /// Moves the first `size` bytes of the file at `path` to a file here and returns its name. Blocks.
  ///
  /// The transfer service tells a process of the file again where an earlier one has ended before it acknowledged it: the file
  /// is found where that process has moved it, as it was then.
  ///
  /// - Parameter leavesRoom: whether the move fails rather than copy so much to another file system that more than half of its
  ///   space is taken by it: the folder may be in memory.
  static func adopt(_ path: String, size: Int64, leavesRoom: Bool = false) throws -> String {
    let name = ownName(of: path)
    let own = directory.appendingPathComponent(name, isDirectory: false).path
    let disk = LinuxFileSystem()
    guard let length = try disk.size(of: path) else {
      try check(name, size: size)
      return name
    }
    if leavesRoom, !isOnOneFileSystem(path, directory.path), try disk.freeSpace(at: directory.path) / 2 < length {
      throw SystemError(ENOSPC, "copy", path: own)
    }
    // An earlier process was killed before it had removed the first name.
    try disk.remove(own)
    try disk.link(path, to: own)
    try disk.remove(path)
    let file = try disk.open(own)
    defer { try? file.close() }
    try file.truncate(to: size)
    return name
  }

  /// The same for each file. The names of the transfer service have 128 random bits in their middle.
  private static func ownName(of path: String) -> String {
    let parts = (path as NSString).lastPathComponent.split(separator: ".")
    let name = prefix + (parts.count == 3 ? parts[1].filter { $0 != "-" } : "") + suffix
    return isName(name) ? name : prefix + randomName() + suffix
  }

  private static func isOnOneFileSystem(_ first: String, _ second: String) -> Bool {
    var (one, other) = (stat(), stat())
    return stat(first, &one) == 0 && stat(second, &other) == 0 && one.st_dev == other.st_dev
  }

  /// Removes the file if it is still there. Blocks.
  static func remove(_ url: URL) { unlink(url.path) }

  private static func randomName() -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return String((0..<10).compactMap { _ in letters.randomElement() })
  }

  private static var folderName: String { "urlsession-\(getuid())" }

  private static func makeDirectory() -> URL {
    let base =
      base.withLock { $0.map { URL(fileURLWithPath: $0, isDirectory: true) } } ?? FileManager.default.temporaryDirectory
    let own = base.appendingPathComponent(folderName, isDirectory: true)
    mkdir(own.path, 0o700)
    var status = stat()
    if lstat(own.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid(),
      status.st_mode & 0o077 == 0
    {
      return own
    }
    // The folder belongs to another user, or others can look into it: one with a name that can't be guessed.
    let fresh = base.appendingPathComponent("\(folderName)-\(randomName())", isDirectory: true)
    mkdir(fresh.path, 0o700)
    return fresh
  }
}
