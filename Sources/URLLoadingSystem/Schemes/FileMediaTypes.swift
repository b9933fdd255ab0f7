import Foundation
import Glibc
import HTTPSemantics
import SystemServices

/// The media types of files by their names: what this machine's shared MIME-info database says, and what is built in
/// where it says nothing or is not installed.
enum FileMediaTypes {
  /// nil where the name says nothing. The first call reads the database, which blocks.
  static func mediaType(ofFileNamed name: String) -> String? {
    globs.mediaType(ofFileNamed: name.utf8)
      ?? PathExtensionMediaType.knownMediaType(forPathExtension: (name as NSString).pathExtension)
  }

  /// Read once: what is installed later counts for later processes.
  private static let globs = MIMEGlobs(files: folders().reversed().compactMap { read($0 + "/mime/globs2") })

  /// XDG Base Directory Specification: the most important first.
  static func folders(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [String] {
    let listed = (environment["XDG_DATA_DIRS"] ?? "").split(separator: ":").map(String.init)
    let shared = listed.isEmpty ? ["/usr/local/share", "/usr/share"] : listed
    return [UserDirectories.data(environment: environment)] + shared.filter { $0.hasPrefix("/") }
  }

  private static let largestFile = 16 * 1024 * 1024

  private static func read(_ path: String) -> [UInt8]? {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { return nil }
    defer { _ = Glibc.close(number) }
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= largestFile else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes {
        pread(number, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count))
      }
      guard read > 0 else { break }
      count += read
    }
    return Array(bytes.prefix(count))
  }
}
