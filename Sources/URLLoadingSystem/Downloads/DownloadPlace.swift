import Foundation
import Glibc
import HTTPSemantics

/// The destination of a download, as the app has set it.
struct DownloadPlace: Sendable {
  let path: String
  /// Whether a file that is there is replaced; else a number is added to the name. A symbolic link is replaced itself: the
  /// file that it leads to keeps its contents.
  let isReplaced: Bool

  private static let mostNumbers = 10_000

  /// Makes the file. Blocks.
  /// - Throws: `URLError.cannotCreateFile`.
  func create() throws -> DownloadFile {
    if isReplaced { return DownloadFile(descriptor: try replace(), url: URL(fileURLWithPath: path)) }
    for number in 0..<DownloadPlace.mostNumbers {
      let candidate = number == 0 ? path : PathText.numbered(path, number)
      let descriptor = open(candidate, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if descriptor >= 0 { return DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: candidate)) }
      guard errno == EEXIST else { throw failure(errno) }
    }
    throw failure(EEXIST)
  }

  /// Puts a new file in the place of what is there: other names of the old file, and programs that have it open, keep its
  /// contents. The new file is there from the first byte on, so that a later download can go on with it.
  private func replace() throws -> CInt {
    var status = stat()
    if lstat(path, &status) == 0, ![S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) { throw failure(EEXIST) }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    let beside = folder.appendingPathComponent(".download-\(UInt64.random(in: .min ... .max))").path
    let descriptor = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0, [EACCES, EPERM].contains(errno) { return try truncate() }
    guard descriptor >= 0 else { throw failure(errno) }
    guard rename(beside, path) == 0 else {
      let number = errno
      unlink(beside)
      close(descriptor)
      throw failure(number)
    }
    return descriptor
  }

  /// The folder takes no new file: a file that may be written is emptied.
  private func truncate() throws -> CInt {
    let descriptor = open(path, O_RDWR | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else { throw failure(errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw failure(EEXIST)
    }
    return descriptor
  }

  /// Opens the partial file of an earlier download. Blocks.
  /// - Throws: `URLError.cannotOpenFile`, also for a file of another size.
  static func reopen(_ path: String, size: Int64) throws -> DownloadFile {
    let descriptor = try PartialFile.open(path, size: size, isOurs: false)
    return DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: path))
  }

  private func failure(_ number: CInt) -> URLError {
    ErrorMapping.make(
      .cannotCreateFile, because: "The file \(path) could not be made: \(String(cString: strerror(number))).")
  }
}
