import Foundation
import SystemServices

/// The files of transfers: `partial/7` while transfer 7 runs, `complete/7` from its end until the app has it, and
/// `delivery/7.….tmp`, the name that the app is told. All are on one file system, so that a file goes from one to the next
/// by its name alone.
package struct TransferFiles: Sendable {
  package let directory: String
  package let disk: any DurableFileSystem
  private let deliveries = DeliveryNames()

  package init(directory: String, disk: any DurableFileSystem) {
    self.directory = directory
    self.disk = disk
  }

  /// The folders, beside the queue.
  static let (partialName, completeName, deliveryName) = ("partial", "complete", "delivery")
  /// The folder of files that the queue knows nothing of.
  static let setAsideName = "set-aside"

  package var partialDirectory: String { "\(directory)/\(TransferFiles.partialName)" }
  package var completeDirectory: String { "\(directory)/\(TransferFiles.completeName)" }
  package var deliveryDirectory: String { "\(directory)/\(TransferFiles.deliveryName)" }

  package func partial(_ transfer: TransferID) -> String { "\(partialDirectory)/\(transfer)" }
  package func complete(_ transfer: TransferID) -> String { "\(completeDirectory)/\(transfer)" }

  package func createDirectories() throws {
    for path in [directory, partialDirectory, completeDirectory, deliveryDirectory] {
      try disk.createDirectory(path)
      try PrivateDirectory.check(path)
    }
    try disk.syncDirectory(directory)
  }

  /// Gives a transfer a file of `count` bytes or more to begin with, on the disk when this returns. The file keeps its
  /// other name. False when it is shorter.
  package func takeOver(_ path: String, for transfer: TransferID, count: Int64) throws -> Bool {
    guard try disk.size(of: path) ?? 0 >= count else { return false }
    // An interrupted copy may have left a file.
    try disk.remove(partial(transfer))
    try disk.link(path, to: partial(transfer))
    let file = try disk.open(partial(transfer))
    defer { try? file.close() }
    try file.sync()
    try disk.syncDirectory(partialDirectory)
    return true
  }

  /// A try had given the file its complete name when the disk failed, before that was known to last: it is a part again.
  func takeBackComplete(_ transfer: TransferID, count: Int64) throws {
    guard count > 0, try disk.size(of: partial(transfer)) == nil, try disk.size(of: complete(transfer)) == count else {
      return
    }
    try disk.rename(complete(transfer), to: partial(transfer))
  }

  /// A name for a complete file, for one delivery of its event. nil when there is no such file, or when it has another
  /// length than `count`: an app that was given a name for it before has changed it.
  ///
  /// An app that has left the file under the name of the delivery before gets that name again: it may be reading it at
  /// this moment, over a connection that was lost, and further names would be without end.
  ///
  /// A file system without hard links makes this a copy, which the engine's queue waits for.
  package func makeDelivery(_ transfer: TransferID, count: Int64) throws -> String? {
    guard try disk.size(of: complete(transfer)) == count else { return nil }
    return try deliveries.update(transfer, listing: listDeliveries) { names in
      if let last = names.last, try disk.size(of: "\(deliveryDirectory)/\(last)") == count {
        return "\(deliveryDirectory)/\(last)"
      }
      let name = deliveryName(transfer, suffix: "tmp")
      try disk.link(complete(transfer), to: "\(deliveryDirectory)/\(name)")
      // One that the app has shortened or made longer is removed with the others.
      names = try names.filter { try disk.size(of: "\(deliveryDirectory)/\($0)") != nil } + [name]
      return "\(deliveryDirectory)/\(name)"
    }
  }

  private func listDeliveries() throws -> [String] { try disk.names(in: deliveryDirectory) }

  /// Hands the bytes received so far over to the app, as a file.
  package func makeResumeFile(_ transfer: TransferID) throws -> String {
    let path = "\(deliveryDirectory)/\(deliveryName(transfer, suffix: "resume"))"
    try disk.rename(partial(transfer), to: path)
    // The app is told of the path, and may come back with it after a power failure.
    try disk.syncDirectory(deliveryDirectory)
    return path
  }

  private func deliveryName(_ transfer: TransferID, suffix: String) -> String {
    "\(transfer).\(UUID().uuidString).\(suffix)"
  }

  /// Removes the files that a transfer has before it is delivered.
  package func removeUndelivered(_ transfer: TransferID) throws {
    try disk.remove(partial(transfer))
    try disk.remove(complete(transfer))
  }

  /// The app has it: every name that it was delivered under goes, and the file itself.
  package func removeDelivered(_ transfer: TransferID) throws {
    try deliveries.update(transfer, listing: listDeliveries) { names in
      for name in names { try disk.remove("\(deliveryDirectory)/\(name)") }
      names = []
    }
    try disk.remove(complete(transfer))
  }
}
