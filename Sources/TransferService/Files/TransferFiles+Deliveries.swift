import Foundation
import SystemServices

/// The files that apps are given: `delivery/7.….tmp` of transfer 7. The complete file stays as it was received whatever an app
/// does with those: each is a file of its own, or is one before the app can write into it.
extension TransferFiles {
  /// A file with the bytes of a complete one, for one delivery of its event. nil when there is no such file, nor an earlier
  /// delivery that is known to have its bytes, or when it has another length than `count`.
  ///
  /// It is a clone where the file system has them. Else a large file is leased where that can be: it is a hard link, and the
  /// complete file is copied later. Others are copied. All of it is on the disk when this returns: the complete file is
  /// removed once the app has it. Where there is no room for a copy it is a hard link without a lease, and an app that writes
  /// into it may change what it is given the next time; where the file system has attributes, that is found out then.
  ///
  /// An app that has left the file under the name of an earlier delivery, and has not changed it, gets that name again: it
  /// may be reading it at this moment, over a connection that was lost. Of the others the last stays, for the same reason.
  ///
  /// Takes the time of reading and writing the file. One call at a time for each transfer.
  ///
  /// - Parameters:
  ///   - unclaimed: how many of the free bytes of the disk may be used.
  ///   - later: nil: nothing is leased.
  ///   - isLinked: called where it is a hard link without a lease.
  /// - Throws: `ChangedFile` where an app has written into the complete file, and ENOENT where a folder is gone, which may come
  ///   back with the file.
  package func makeDelivery(
    _ transfer: TransferID, count: Int64, unclaimed: @escaping (Int64) -> Int64 = { $0 }, later: LaterCopies? = nil,
    isLinked: () -> Void = {}
  ) throws -> String? {
    let order = Order(transfer: transfer, count: count, unclaimed: unclaimed, later: later)
    return try spares.reading(transfer) {
      if let leased = leases[transfer],
        let made = try leased.unlessSettled({ try make(order, isLeased: true, isLinked) })
      {
        return made
      }
      return try make(order, isLeased: false, isLinked)
    }
  }

  /// A file that is to be delivered.
  struct Order {
    let transfer: TransferID
    let count: Int64
    let unclaimed: (Int64) -> Int64
    let later: LaterCopies?
  }

  /// - Parameter isLeased: whether the complete file is leased, and stays it until this has returned.
  private func make(_ order: Order, isLeased: Bool, _ isLinked: () -> Void) throws -> String? {
    let (transfer, count) = (order.transfer, order.count)
    try requireFolder(TransferFiles.deliveryName)
    guard let size = try sizeOfComplete(transfer, count: count) else { return nil }
    restorePermissions(of: transfer)
    guard size == count else {
      if try (try? SourceFile.open(complete(transfer))).map(ReceivedMark.fits) == false { throw ChangedFile() }
      return nil
    }
    var isLeased = isLeased
    let file = try secured(try SourceFile.open(complete(transfer)), order, &isLeased)
    defer { if let later = order.later { planCopy(order, later) } }
    let earlier = try deliveries.update(transfer, listing: listDeliveries) { names in
      names = try names.filter { try disk.size(of: "\(deliveryDirectory)/\($0)") != nil }
      return names
    }
    for name in earlier.suffix(2).reversed() where try isUnchanged(name, from: file, count: count) {
      return "\(deliveryDirectory)/\(name)"
    }
    let name = deliveryName(transfer, suffix: "tmp")
    let path = "\(deliveryDirectory)/\(name)"
    switch try isLeased ? .leased : make(path, of: file, order) {
    case .own: break
    case .leased:
      spares.shared(transfer)
      try disk.link(complete(transfer), to: path)
    case .noRoom:
      spares.shared(transfer)
      isLinked()
      try? ReceivedMark.set(on: file)
      try disk.link(complete(transfer), to: path)
    }
    let superfluous = try deliveries.update(transfer, listing: listDeliveries) { names in
      let others = names.filter { $0 != name }
      names = others.suffix(1) + [name]
      return others.dropLast(1)
    }
    for name in superfluous { try removeFile(name, in: TransferFiles.deliveryName) }
    return path
  }

  /// nil where the complete file is gone, and no earlier delivery can take its place.
  private func sizeOfComplete(_ transfer: TransferID, count: Int64) throws -> Int64? {
    if let size = try size(of: "\(transfer)", in: TransferFiles.completeName) { return size }
    return try takeBackDelivery(of: transfer, count: count) ? count : nil
  }

  /// Gives a file that an app has left the name of the complete file, which is gone. The mark says that it is as it was
  /// received; a copy, which has none, may be as its app has made it.
  private func takeBackDelivery(of transfer: TransferID, count: Int64) throws -> Bool {
    let names = try deliveries.update(transfer, listing: listDeliveries) { $0 }
    for name in names.reversed() {
      let path = "\(deliveryDirectory)/\(name)"
      guard let file = try? SourceFile.open(path), try Int64(file.regularStatus().st_size) == count,
        try ReceivedMark.fits(file) == true
      else { continue }
      try disk.link(path, to: complete(transfer))
      try disk.syncDirectory(completeDirectory)
      return true
    }
    return false
  }

  /// Sets the last file aside that an app was given, before it would be removed: its bytes may be all that is left of a download.
  func setAsideDelivery(of transfer: TransferID, count: Int64, date: Date) throws {
    guard try disk.size(of: complete(transfer)) == nil else { return }
    let names = try deliveries.update(transfer, listing: listDeliveries) { $0 }
    guard
      let name = try names.last(where: { name in
        try !isObstacle(name, in: TransferFiles.deliveryName)
          && disk.size(of: "\(deliveryDirectory)/\(name)") == count
      })
    else { return }
    try disk.rename("\(deliveryDirectory)/\(name)", to: complete(transfer))
    _ = try setAside(transfer, in: TransferFiles.completeName, date: date)
  }

  /// How a file is delivered.
  private enum Making {
    /// It is made, and a file of its own.
    case own
    /// It is to be linked.
    case leased, noRoom
  }

  private func make(_ path: String, of file: SourceFile, _ order: Order) throws -> Making {
    if try cloning.remembered({ try disk.clone(file, to: path) }) { return try syncCopy(path) ? .own : .noRoom }
    if let later = order.later, order.count >= later.leastSize, try lease(file, order) { return .leased }
    return try copy(file, count: order.count, to: path, unclaimed: order.unclaimed) ? .own : .noRoom
  }

  /// False, and nothing is made, where there is no room.
  func copy(
    _ file: SourceFile, count: Int64, to path: String, unclaimed: (Int64) -> Int64
  ) throws -> Bool {
    if try !cloning.remembered({ try disk.clone(file, to: path) }) {
      guard unclaimed(try disk.freeSpace(at: deliveryDirectory)) - TransferFiles.roomBesideCopies >= count else {
        return false
      }
      if copyIntoSpare(file, count: count, to: path) { return true }
      do {
        guard try disk.duplicate(file, count: count, to: path) == count else {
          try disk.remove(path)
          throw SystemError(EIO, "copy", path: path)
        }
      } catch let error as SystemError where error.isNoSpace { return false }
    }
    return try syncCopy(path)
  }

  /// False, and it is removed, where there is no room.
  private func syncCopy(_ path: String) throws -> Bool {
    do {
      let copy = try disk.open(path)
      defer { try? copy.close() }
      try copy.sync()
    } catch let error as SystemError {
      try disk.remove(path)
      guard error.isNoSpace else { throw error }
      return false
    }
    return true
  }

  /// Bytes that copies leave free for everything else.
  static let roomBesideCopies: Int64 = 64 << 20

  /// Whether an earlier delivery still has the bytes that were received. Its dates say nothing: apps set them.
  private func isUnchanged(_ name: String, from complete: SourceFile, count: Int64) throws -> Bool {
    let path = "\(deliveryDirectory)/\(name)"
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == count,
      // An app may have taken its own permissions away.
      status.st_mode & (S_IRUSR | S_IWUSR) == S_IRUSR | S_IWUSR
    else { return false }
    let own = try complete.regularStatus()
    // A hard link, which always has the bytes that there are.
    if own.st_ino == status.st_ino, own.st_dev == status.st_dev { return true }
    guard let delivered = try? SourceFile.open(path) else { return false }
    return try delivered.hasBytes(of: complete)
  }
}
