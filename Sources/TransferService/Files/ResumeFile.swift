import Foundation
import SystemServices
import URLLoadingSystem

/// The file that an app hands back to have a download go on.
///
/// Its path comes in a message, and the file is moved and its bytes become the app's: so it must be one that this service
/// handed out to the same app, or a partial file that the library made in some program of this user, and not any file
/// that a path in forged resume data leads to.
struct ResumeFile {
  let path: String
  let files: TransferFiles
  /// The transfer that continues it.
  let transfer: TransferID

  /// - Parameter ownsTransfer: whether the app that sent the path has the transfer of that number.
  func isAcceptable(_ ownsTransfer: (TransferID) throws -> Bool) throws -> Bool {
    guard path.hasPrefix("/"), !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      return false
    }
    if let number {
      let isInPlace = path == "\(files.deliveryDirectory)/\((path as NSString).lastPathComponent)"
      guard isInPlace, try ownsTransfer(number) else { return false }
    } else {
      let folder = (path as NSString).deletingLastPathComponent
      guard TemporaryFile.isPath(path), (try? PrivateDirectory.check(folder)) != nil else { return false }
    }
    return isOurs
  }

  /// The transfer whose bytes the service handed out under such a name; nil for other names.
  private var number: TransferID? {
    let name = (path as NSString).lastPathComponent
    guard name.hasSuffix(".resume") else { return nil }
    return TransferID(name.prefix { $0 != "." })
  }

  /// A regular file of this user under this name only, or also under that of the transfer, as an import that was
  /// interrupted leaves it.
  private var isOurs: Bool {
    var (status, partial) = (stat(), stat())
    // lstat: no symbolic link.
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
      return false
    }
    if status.st_nlink == 1 { return true }
    return status.st_nlink == 2 && lstat(files.partial(transfer), &partial) == 0 && partial.st_ino == status.st_ino
      && partial.st_dev == status.st_dev
  }
}
