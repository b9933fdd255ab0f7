import Foundation
import SystemServices

/// Large files without a copy: an app gets a hard link of the complete file, and the kernel keeps it from writing into that
/// until there is a copy for later deliveries. It is made a moment later, and only where the app has not acknowledged by then
/// (decision 281).
extension TransferFiles {
  /// The threads and the times of copies that are made later, and the room that they may take.
  package struct LaterCopies: Sendable {
    /// Runs the making of a copy, which comes before others where a process waits for it.
    var run: @Sendable (_ comesFirst: Bool, @escaping @Sendable () -> Void) -> Void
    /// From the delivery on.
    var delay: Duration
    /// The least length of files that are not copied at once.
    var leastSize: Int64
    /// How many of the free bytes of the disk may be used.
    var unclaimed: @Sendable (Int64) -> Int64
    /// Is told what went wrong.
    var report: @Sendable (String) -> Void
  }

  /// The complete file is not as it was received: an app has written into it.
  struct ChangedFile: Error {}

  /// Leases a file and marks it. False where there are no leases, or no marks.
  func lease(_ file: SourceFile, _ order: Order) throws -> Bool {
    spares.shared(order.transfer)
    guard let leased = leases.take(file, of: order.transfer, disk: disk) else { return false }
    do {
      // Once more: it may have been written into before the lease was taken.
      if let fits = try ReceivedMark.fits(file) {
        guard fits else { throw ChangedFile() }
      } else {
        try ReceivedMark.set(on: file)
      }
    } catch {
      leases.release(leased, of: order.transfer)
      if error is ChangedFile { throw error }
      return false
    }
    return true
  }

  /// Has a file that is leased copied later, once.
  func planCopy(_ order: Order, _ later: LaterCopies) {
    guard let leased = leases[order.transfer], leased.plan() else { return }
    planCopy(of: leased, order.transfer, count: order.count, after: later.delay, later)
  }

  private func planCopy(
    of leased: LeasedDeliveries.Leased, _ transfer: TransferID, count: Int64, after delay: Duration?,
    _ later: LaterCopies
  ) {
    let call: @Sendable () -> Void = {
      let isBroken = !leased.lease.isWhole
      // A process may begin to wait while the copy waits in the line. It is made once, by the one that comes first.
      if !isBroken { self.planCopy(of: leased, transfer, count: count, after: nil, later) }
      later.run(isBroken) { self.replace(leased, transfer, count: count, later) }
    }
    leases.call(call, for: leased, after: delay)
  }

  /// Puts a copy in the place of the complete file, which the app keeps.
  private func replace(
    _ leased: LeasedDeliveries.Leased, _ transfer: TransferID, count: Int64, _ later: LaterCopies
  ) {
    guard leased.beginCopy(), leased.unlessSettled({}) != nil else { return }
    let file = leased.lease.file
    do {
      let path = try makeReplacement(of: file, transfer, count: count, unclaimed: later.unclaimed) {
        leased.lease.isWhole
      }
      if path == nil, leased.lease.isWhole {
        // No process wants to write yet.
        leased.giveUpCopy()
        return planCopy(of: leased, transfer, count: count, after: nil, later)
      }
      if let path {
        let isReplaced = try leased.settle { try putInPlace(path, of: transfer) }
        if isReplaced { ReceivedMark.remove(from: file) } else { try disk.remove(path) }
      } else {
        later.report("there is no room for a copy of the file of transfer \(transfer), which its app writes into")
      }
    } catch {
      // A file that was given up meanwhile has lost its mark, and is of no more use.
      if leased.unlessSettled({}) != nil {
        let isChanged = error is ChangedFile
        later.report(
          "the file of transfer \(transfer) was not copied: \(isChanged ? "its app has written into it" : "\(error)")")
      }
    }
    leases.release(leased, of: transfer)
  }

  /// A copy of a marked file, which was in the state of its mark until the end. nil where there is no room.
  ///
  /// - Parameter isWhole: whether a lease says that no process could write into it, whatever dates an app has set.
  private func makeReplacement(
    of file: SourceFile, _ transfer: TransferID, count: Int64, unclaimed: (Int64) -> Int64,
    isWhole: () -> Bool = { false }
  ) throws -> String? {
    let path = "\(deliveryDirectory)/\(deliveryName(transfer, suffix: "tmp"))"
    guard try copy(file, count: count, to: path, unclaimed: unclaimed) else { return nil }
    guard try isWhole() || ReceivedMark.fits(file) == true else {
      try disk.remove(path)
      throw ChangedFile()
    }
    return path
  }

  private func putInPlace(_ path: String, of transfer: TransferID) throws {
    do { try disk.rename(path, to: complete(transfer)) } catch {
      try? disk.remove(path)
      throw error
    }
    try disk.syncDirectory(completeDirectory)
  }

  /// A complete file that apps have had a name of before is safe from them when this returns, where there is room for that.
  ///
  /// - Parameter isLeased: is set where it is leased now.
  /// - Returns: the complete file, which may be another one.
  func secured(_ file: SourceFile, _ order: Order, _ isLeased: inout Bool) throws -> SourceFile {
    guard let fits = try ReceivedMark.fits(file) else { return file }
    // A date that an app has set breaks no lease.
    guard fits || isLeased && leases[order.transfer]?.lease.isWhole == true else { throw ChangedFile() }
    if !isLeased, order.later != nil { isLeased = try lease(file, order) }
    guard !isLeased else { return file }
    let copy = try makeReplacement(of: file, order.transfer, count: order.count, unclaimed: order.unclaimed)
    guard let copy else { return file }
    try putInPlace(copy, of: order.transfer)
    ReceivedMark.remove(from: file)
    return try SourceFile.open(complete(order.transfer))
  }

  /// Does the last thing with the complete file. One that is leased is in no app's way any more.
  func giveUp(_ transfer: TransferID, _ work: () throws -> Void) rethrows {
    guard let leased = leases[transfer] else {
      // It has no mark.
      guard !spares.isUnshared(transfer) else { return try work() }
      let file = try? SourceFile.open(complete(transfer))
      try work()
      if let file { ReceivedMark.remove(from: file) }
      return
    }
    defer {
      ReceivedMark.remove(from: leased.lease.file)
      leases.release(leased, of: transfer)
    }
    // A copy that is being made does not take its name.
    leased.settle {}
    try work()
  }

  /// Takes the name of its complete file from a transfer. Returns the path that the file has then; nil where there is none.
  func withdrawComplete(_ transfer: TransferID) throws -> String? {
    guard try disk.size(of: complete(transfer)) != nil else { return nil }
    let path = "\(deliveryDirectory)/\(deliveryName(transfer, suffix: "tmp"))"
    try giveUp(transfer) { try disk.rename(complete(transfer), to: path) }
    return path
  }

  /// An app may have taken the permissions of its file away, which are those of the complete file.
  func restorePermissions(of transfer: TransferID) {
    var status = stat()
    guard lstat(complete(transfer), &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 != 0o600
    else { return }
    _ = chmod(complete(transfer), 0o600)
  }
}
