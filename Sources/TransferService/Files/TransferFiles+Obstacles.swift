import Foundation
import SystemServices

/// Things that are no files in the places of the service's files: a folder, a link or a pipe that a person or another program has
/// put there. They can't be read or written as a file, and say nothing of the bytes that were there; a link could lead anywhere.
/// They are set aside, never removed, and the file counts as missing.
extension TransferFiles {
  /// - Parameter folder: `partialName` or another of the names of folders.
  /// - Returns: the folder that it is in now; nil where the name is that of a file, or there is none.
  func setAsideUnlessFile(_ transfer: TransferID, in folder: String) throws -> String? {
    var result = Sweep()
    try setAsideUnlessFile("\(transfer)", in: folder, Date(), &result)
    return result.folder
  }

  /// The same of the complete file of a transfer that is over. The file that it was is leased no more.
  func setAsideCompleteUnlessFile(_ transfer: TransferID) throws -> String? {
    guard isObstacle("\(transfer)", in: TransferFiles.completeName) else { return nil }
    var folder: String?
    try giveUp(transfer) { folder = try setAsideUnlessFile(transfer, in: TransferFiles.completeName) }
    return folder
  }

  /// Looks at all of them, before anything is done with the files.
  ///
  /// - Parameter undelivered: the transfers whose complete files are looked at when they are delivered, which loads them again.
  ///   Called where there is something at the name of a complete file.
  package func setAsideObstacles(
    sparing undelivered: () throws -> Set<TransferID> = { [] }, date: Date = Date()
  ) throws -> Sweep {
    var spared: Set<TransferID>?
    var result = Sweep()
    let folders = [
      TransferFiles.partialName, TransferFiles.uploadName, TransferFiles.completeName, JournalFolder.name,
      TransferFiles.deliveryName, TransferFiles.spareName,
    ]
    for folder in folders {
      for name in try disk.names(in: "\(directory)/\(folder)") {
        guard isObstacle(name, in: folder) else { continue }
        if folder == TransferFiles.completeName, let id = TransferID(name) {
          if spared == nil { spared = try undelivered() }
          if spared?.contains(id) == true { continue }
        }
        // One that can't be moved keeps no other one from it.
        do { try setAside(folder, name, date, &result) } catch {
          result.problems.append("\(folder)/\(name): \(error)")
        }
      }
    }
    return result
  }

  /// Removes a file. What is no file is set aside.
  func removeFile(_ name: String, in folder: String) throws {
    var result = Sweep()
    try setAsideUnlessFile(name, in: folder, Date(), &result)
    guard result.folder == nil else { return }
    try disk.remove("\(directory)/\(folder)/\(name)")
  }

  private func setAsideUnlessFile(_ name: String, in folder: String, _ date: Date, _ result: inout Sweep) throws {
    if isObstacle(name, in: folder) { try setAside(folder, name, date, &result) }
  }

  func isObstacle(_ name: String, in folder: String) -> Bool {
    var status = stat()
    // A link is not followed, as where the files are opened.
    return lstat("\(directory)/\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT != S_IFREG
  }
}
