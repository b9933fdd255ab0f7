import Foundation
import SystemServices
import URLLoadingSystem

/// The file that an app hands back to have a download go on.
///
/// Its path comes in a message, and the file is moved and its bytes become the app's: so it must be one that this service
/// handed out to the same app, or a partial file that the library made in some program of this user, and not any file
/// that a path in forged resume data leads to.
///
/// Another file may get the path at any moment. So the folder and the file are opened, what was opened is checked, and from
/// then on the path is not used any more.
struct ResumeFile {
  let path: String
  let files: TransferFiles
  /// The transfer that continues it.
  let transfer: TransferID

  /// Whether the path is one that such a file may have. Looks at no file.
  ///
  /// - Parameter ownsTransfer: whether the app that sent the path has the transfer of that number.
  func isNamedAsOurs(_ ownsTransfer: (TransferID) throws -> Bool) throws -> Bool {
    // A system call would read the path up to a zero only.
    guard path.hasPrefix("/"), !path.utf8.contains(0),
      !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
    else {
      return false
    }
    guard let number else { return TemporaryFile.isPath(path) }
    return try path == "\(files.deliveryDirectory)/\(name)" && ownsTransfer(number)
  }

  /// Throws where the file is not one that may be taken over. Blocks as long as its file system hangs.
  func open() throws -> OpenedResumeFile {
    let folder = try files.disk.folder((path as NSString).deletingLastPathComponent)
    try folder.checkPrivate()
    let opened = OpenedResumeFile(folder: folder, name: name, file: try folder.openFile(name))
    guard try isOurs(opened.file.regularStatus(path: path)) else { throw NotOurs(path: path) }
    return opened
  }

  /// Its bytes may be those of another file of the user.
  struct NotOurs: Error, CustomStringConvertible {
    let path: String
    var description: String { "\(path) belongs to another user, or has another name as well" }
  }

  private var name: String { (path as NSString).lastPathComponent }

  /// The transfer whose bytes the service handed out under such a name; nil for other names.
  private var number: TransferID? {
    guard name.hasSuffix(".resume") else { return nil }
    return TransferID(name.prefix { $0 != "." })
  }

  /// A file of this user under this name only, or also under that of the transfer, as an import that was
  /// interrupted leaves it.
  private func isOurs(_ status: stat) -> Bool {
    guard status.st_uid == geteuid() else { return false }
    if status.st_nlink == 1 { return true }
    var partial = stat()
    return status.st_nlink == 2 && lstat(files.partial(transfer), &partial) == 0 && partial.st_ino == status.st_ino
      && partial.st_dev == status.st_dev
  }
}

/// A file that may be taken over, whatever becomes of its name.
struct OpenedResumeFile: Sendable {
  let folder: HeldFolder
  let name: String
  let file: SourceFile

  /// Whether the name is still that of this file.
  var hasName: Bool { (try? folder.has(name, as: file)) ?? false }

  /// Does nothing where the name is that of another file by now.
  func removeName() throws { try folder.remove(name, of: file) }
}
