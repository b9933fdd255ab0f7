import Foundation

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The files that downloads go to until the app takes them: in a folder of this user's own, which no other user can
/// look into or prepare.
enum TemporaryFile {
  /// Made when first needed.
  static let directory: URL = makeDirectory()

  /// Creates a new, empty file that only this user can read. Blocks.
  static func create() throws -> (descriptor: Int32, url: URL) {
    for _ in 0..<16 {
      let url = directory.appendingPathComponent("CFNetworkDownload_\(randomName()).tmp", isDirectory: false)
      let descriptor = Glibc.open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor >= 0 { return (descriptor, url) }
      guard errno == EEXIST else { break }
    }
    let reason = String(cString: strerror(errno))
    throw ErrorMapping.make(
      .cannotCreateFile, because: "No temporary file could be made in \(directory.path): \(reason).")
  }

  /// Removes the file if it is still there. Blocks.
  static func remove(_ url: URL) { unlink(url.path) }

  private static func randomName() -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return String((0..<10).compactMap { _ in letters.randomElement() })
  }

  private static func makeDirectory() -> URL {
    let base = FileManager.default.temporaryDirectory
    let own = base.appendingPathComponent("urlsession-\(getuid())", isDirectory: true)
    mkdir(own.path, 0o700)
    var status = stat()
    if lstat(own.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid(),
      status.st_mode & 0o077 == 0
    {
      return own
    }
    // Somebody else was there first: a folder with a name that can't be guessed.
    let fresh = base.appendingPathComponent("urlsession-\(getuid())-\(randomName())", isDirectory: true)
    mkdir(fresh.path, 0o700)
    return fresh
  }
}
