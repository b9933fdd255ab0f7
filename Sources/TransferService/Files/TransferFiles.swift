import Foundation
import SystemServices

/// The files of transfers: `partial/7` while transfer 7 runs, `complete/7` from its end until the app has it, and
/// `delivery/7.….tmp`, the name that the app is told. All are on one file system, so that a file goes from one to the next
/// by its name alone.
package struct TransferFiles: Sendable {
  package let directory: String
  package let disk: any DurableFileSystem
  let deliveries = DeliveryNames()
  let cloning = CloningMemory()
  let leases = LeasedDeliveries()
  let spares = SpareFiles()
  let space = ClaimedSpace()

  package init(directory: String, disk: any DurableFileSystem) {
    self.directory = directory
    self.disk = disk
  }

  /// The folders, beside the queue.
  static let (partialName, completeName, deliveryName) = ("partial", "complete", "delivery")
  /// The folder of the marks of transfers that run.
  static let runningName = "running"
  /// The folder of empty files that may become parts.
  static let spareName = "spare"
  static let namesOfFolders = [
    partialName, completeName, deliveryName, uploadName, JournalFolder.name, NewTaskFolder.name,
  ]
  /// The folder of files that the queue knows nothing of.
  static let setAsideName = "set-aside"

  package var partialDirectory: String { "\(directory)/\(TransferFiles.partialName)" }
  package var completeDirectory: String { "\(directory)/\(TransferFiles.completeName)" }
  package var deliveryDirectory: String { "\(directory)/\(TransferFiles.deliveryName)" }

  var spareDirectory: String { "\(directory)/\(TransferFiles.spareName)" }
  package var runningDirectory: String { "\(directory)/\(TransferFiles.runningName)" }

  package func partial(_ transfer: TransferID) -> String { "\(partialDirectory)/\(transfer)" }
  package func complete(_ transfer: TransferID) -> String { "\(completeDirectory)/\(transfer)" }

  /// Records of transfers with bytes on the disk, for a queue that has to be made again.
  var journals: JournalFolder { JournalFolder(in: directory, disk: disk) }

  /// The paths of all folders of files, without that of the queue.
  var folders: [String] {
    [
      partialDirectory, completeDirectory, deliveryDirectory, spareDirectory, uploadDirectory, runningDirectory,
      journals.directory, newTasks.directory,
    ]
  }

  package func createDirectories() throws {
    for path in [directory] + folders {
      try disk.createDirectory(path)
      try PrivateDirectory.check(path)
    }
    try disk.syncDirectory(directory)
  }

  /// A try had given the file its complete name when the disk failed, before that was known to last: it is a part again.
  func takeBackComplete(_ transfer: TransferID, count: Int64) throws {
    guard count > 0, try disk.size(of: partial(transfer)) == nil, try disk.size(of: complete(transfer)) == count else {
      return
    }
    try disk.rename(complete(transfer), to: partial(transfer))
  }

  /// Throws where one of the folders is gone: it may come back with what is in it.
  func requireFolder(_ name: String) throws {
    let path = "\(directory)/\(name)"
    guard try disk.size(of: path) != nil else { throw SystemError(ENOENT, "open", path: path) }
  }

  /// The length of a file in one of the folders; nil where it is gone. Throws where its folder is.
  func size(of name: String, in folder: String) throws -> Int64? {
    let path = "\(directory)/\(folder)/\(name)"
    if let size = try disk.size(of: path) { return size }
    try requireFolder(folder)
    // The folder may have come back in between.
    return try disk.size(of: path)
  }

  func listDeliveries() throws -> [String] { try disk.names(in: deliveryDirectory) }

  /// Hands the bytes received so far over to the app, as a file. `syncResumeFiles` has to follow before the app is told. The
  /// transfer has them too until its other files are removed: a service that is killed before the cancellation is written goes
  /// on with them.
  package func makeResumeFile(_ transfer: TransferID) throws -> String {
    let path = "\(deliveryDirectory)/\(deliveryName(transfer, suffix: "resume"))"
    spares.shared(transfer)
    do { try disk.link(partial(transfer), to: path) } catch {
      // The file system may have no hard links. The journal first, so that it promises no bytes that are gone.
      try journals.remove(transfer)
      try disk.rename(partial(transfer), to: path)
    }
    // Its age counts from now on, and not from its last byte.
    _ = utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
    return path
  }

  /// Has the files of resume points outlive a power failure: apps are told of their paths, and may come back with them.
  package func syncResumeFiles() throws { try disk.syncDirectory(deliveryDirectory) }

  /// A name that no other process can guess. `UUID()` would open a device for it.
  func deliveryName(_ transfer: TransferID, suffix: String) -> String {
    let words = (0..<4).map { _ in String(UInt32.random(in: 0...UInt32.max), radix: 36) }
    return "\(transfer).\(words.joined(separator: "-")).\(suffix)"
  }

  /// Removes the files that a transfer has before it is delivered.
  package func removeUndelivered(_ transfer: TransferID) throws {
    // First, so that no journal promises bytes that are gone.
    spares.shared(transfer)
    try removeFile("\(transfer)", in: JournalFolder.name)
    try removeFile("\(transfer)", in: TransferFiles.partialName)
    try giveUp(transfer) { try removeFile("\(transfer)", in: TransferFiles.completeName) }
    try removeUpload(transfer)
  }

  /// The app has it: every name that it was delivered under goes, and the file itself.
  package func removeDelivered(_ transfer: TransferID) throws {
    try removeFile("\(transfer)", in: JournalFolder.name)
    try giveUp(transfer) {
      try removeDeliveries(transfer)
      try removeComplete(transfer)
    }
  }

  private func removeDeliveries(_ transfer: TransferID) throws {
    // Not in the table's lock, for which the deliveries of other apps would wait.
    let names = try deliveries.update(transfer, listing: listDeliveries) { names in
      defer { names = [] }
      return names
    }
    do { for name in names { try removeFile(name, in: TransferFiles.deliveryName) } } catch {
      try deliveries.update(transfer, listing: listDeliveries) { $0 = names + $0 }
      throw error
    }
  }
}
