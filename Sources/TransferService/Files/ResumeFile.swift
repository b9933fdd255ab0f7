import Foundation

/// The file that an app hands back to have a download go on.
///
/// Its path comes in a message, and the file is moved: so it must be one that this service handed out or that the
/// library made of it, and not any file that a path in forged resume data leads to.
enum ResumeFile {
  static func isAcceptable(_ path: String) -> Bool {
    guard path.hasPrefix("/"), !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }),
      hasName((path as NSString).lastPathComponent)
    else { return false }
    var status = stat()
    // lstat: no symbolic link.
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
  }

  /// The names of `TransferFiles.makeResumeFile` and of the library's partial downloads.
  private static func hasName(_ name: String) -> Bool {
    name.hasSuffix(".resume") || name.hasPrefix("CFNetworkDownload_") && name.hasSuffix(".tmp")
  }
}
