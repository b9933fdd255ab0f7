import Foundation
import Glibc
import HTTPSemantics

/// The destination of a download, as the app has set it.
struct DownloadPlace: Sendable {
  let path: String
  /// Whether a file that is there is replaced; else a number is added to the name.
  let isReplaced: Bool

  private static let mostNumbers = 10_000

  /// Makes the file. Blocks.
  /// - Throws: `URLError.cannotCreateFile`.
  func create() throws -> DownloadFile {
    if isReplaced {
      let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o666)
      guard descriptor >= 0 else { throw failure(errno) }
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        close(descriptor)
        throw failure(EEXIST)
      }
      return DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: path))
    }
    for number in 0..<DownloadPlace.mostNumbers {
      let candidate = number == 0 ? path : PathText.numbered(path, number)
      let descriptor = open(candidate, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if descriptor >= 0 { return DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: candidate)) }
      guard errno == EEXIST else { throw failure(errno) }
    }
    throw failure(EEXIST)
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
