import Foundation
import SystemServices

/// Files of earlier lives of the service. One that the queue knows and no longer needs is removed. One that the queue does
/// not know is never deleted: the queue may have lost its row, and the file may be all that is left of a download.
extension TransferFiles {
  /// The effects of a sweep.
  package struct Sweep: Sendable, Equatable {
    package var removed = 0
    package var setAside = 0
    /// The folder with the files that were set aside; nil where there are none.
    package var folder: String?
    /// The paths of files that no transfer needs and that could not be removed.
    package var unremoved: [String] = []
    /// Sentences about files that the queue does not know and that could not be moved.
    package var problems: [String] = []
  }

  /// The transfers that need files, by the queue.
  package struct NeededFiles {
    package var unfinished: Set<TransferID>
    package var undelivered: Set<TransferID>
    /// Whether the queue has the transfer, be it over or not.
    package var isKnown: (TransferID) throws -> Bool
    /// The names of copies for uploads that could not be given the names of their transfers yet.
    package var unnamedUploads: Set<String> = []

    package init(
      unfinished: Set<TransferID>, undelivered: Set<TransferID>, isKnown: @escaping (TransferID) throws -> Bool
    ) {
      self.unfinished = unfinished
      self.undelivered = undelivered
      self.isKnown = isKnown
    }
  }

  /// A file that can't be removed or moved keeps no other one from it. A delivered file that the app may be reading this moment stays, and so do the files of resume points, which belong to
  /// the app, until they are a week old. Those that a service has made of a transfer whose end it did not write were not told.
  ///
  /// - Parameter sweepsDeliveries: whether delivered files and those of resume points go.
  func sweep(
    keeping needed: NeededFiles, sweepsDeliveries: Bool = true, date: Date = Date(), days: KeptDays = KeptDays()
  ) throws -> Sweep {
    let present = needed.unfinished.union(needed.undelivered)
    var result = Sweep()
    for name in try disk.names(in: partialDirectory) {
      let id = TransferID(name)
      if let id, needed.unfinished.contains(id) { continue }
      guard !name.hasSuffix(TransferFiles.importSuffix) else {
        // The import begins anew, with the file that the app gave.
        remove("\(partialDirectory)/\(name)", &result)
        continue
      }
      sweep(TransferFiles.partialName, name, of: id, needed, date, &result)
    }
    for name in try disk.names(in: uploadDirectory) where !needed.unnamedUploads.contains(name) {
      let id = TransferID(name)
      if let id, needed.unfinished.contains(id) { continue }
      sweep(TransferFiles.uploadName, name, of: id, needed, date, &result)
    }
    for name in try disk.names(in: completeDirectory) {
      let id = TransferID(name)
      if let id, present.contains(id) { continue }
      sweep(TransferFiles.completeName, name, of: id, needed, date, &result)
    }
    for name in try disk.names(in: journals.directory) {
      let id = TransferID(name)
      if let id, present.contains(id) { continue }
      guard !name.hasSuffix(".new") else {
        // The next journal of its transfer takes its place, if it stays.
        try? disk.remove("\(journals.directory)/\(name)")
        continue
      }
      sweep(JournalFolder.name, name, of: id, needed, date, &result)
    }
    for name in try disk.names(in: spareDirectory) { remove("\(spareDirectory)/\(name)", &result) }
    guard sweepsDeliveries else { return result }
    for name in try disk.names(in: deliveryDirectory) {
      if name.hasSuffix(".resume") {
        let id = TransferID(name.prefix { $0 != "." })
        let isUntold = id.map { needed.unfinished.contains($0) && isOtherName(name, of: $0) } ?? false
        guard isUntold || isForgotten(name, at: date, days) else { continue }
        remove("\(deliveryDirectory)/\(name)", &result)
      } else if name.hasSuffix(".tmp") {
        let id = TransferID(name.prefix { $0 != "." })
        if let id, needed.undelivered.contains(id) { continue }
        sweep(TransferFiles.deliveryName, name, of: id, needed, date, &result)
      }
    }
    return result
  }

  /// Keeps a file that the queue says nothing of, out of the way of transfers.
  package func setAside(_ transfer: TransferID, in folder: String, date: Date = Date()) throws -> String {
    var result = Sweep()
    try setAside(folder, "\(transfer)", date, &result)
    return result.folder ?? directory
  }

  /// The same for the complete files of transfers, all in one folder. One that can't be moved keeps no other from it.
  func setAsideComplete(
    _ transfers: [TransferID], date: Date
  ) -> (folder: String?, failures: [TransferID: any Error]) {
    var (result, failures) = (Sweep(), [TransferID: any Error]())
    for id in transfers {
      do { try setAside(TransferFiles.completeName, "\(id)", date, &result) } catch { failures[id] = error }
    }
    return (result.folder, failures)
  }

  /// The paths of complete files that were set aside since the queue did not know them, the latest of each transfer.
  func completeSetAside(_ transfers: [TransferID]) throws -> [TransferID: String] {
    try pathsSetAside(of: transfers, in: TransferFiles.completeName)
  }

  /// The paths of files that had their names in `name` and were set aside, the latest of each transfer. What was no file is none.
  func pathsSetAside(of transfers: [TransferID], in name: String) throws -> [TransferID: String] {
    let root = "\(directory)/\(TransferFiles.setAsideName)"
    var paths: [TransferID: String] = [:]
    for folder in try disk.names(in: root).reversed() {
      for id in transfers where paths[id] == nil {
        let path = "\(root)/\(folder)/\(name)/\(id)"
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { paths[id] = path }
      }
    }
    return paths
  }

  /// A part was set aside by a service that died before it had written the end of its transfer, whose app came back: the download
  /// goes on with it.
  func takeBackPart(_ transfer: TransferID, count: Int64) throws {
    guard count > 0, try disk.size(of: partial(transfer)) == nil,
      let path = try pathsSetAside(of: [transfer], in: TransferFiles.partialName)[transfer],
      try disk.size(of: path) ?? 0 >= count
    else { return }
    try disk.rename(path, to: partial(transfer))
  }

  /// Files of transfers that were set aside together.
  struct SetAside: Sendable {
    /// Their paths now.
    var paths: [TransferID: String] = [:]
    /// Sentences about those that could not be moved.
    var problems: [TransferID: String] = [:]
  }

  /// Keeps what has arrived of transfers that are given up, in one folder.
  ///
  /// - Parameters:
  ///   - parts: Transfers that are not over, and do not run.
  ///   - finished: Transfers whose files were not delivered.
  func setAside(parts: [TransferID], finished: [TransferID], date: Date) -> SetAside {
    var (moved, sweep) = (SetAside(), Sweep())
    for (folder, ids) in [(TransferFiles.partialName, parts), (TransferFiles.completeName, finished)] {
      var (isChanged, absent) = (false, [TransferID]())
      for id in ids {
        do {
          guard let size = try disk.size(of: "\(directory)/\(folder)/\(id)") else {
            absent.append(id)
            continue
          }
          guard size > 0 else { continue }
          // First, so that no journal promises bytes that are gone.
          try journals.remove(id)
          try giveUp(id) { try setAside(folder, "\(id)", date, &sweep) }
          moved.paths[id] = "\(sweep.folder ?? directory)/\(folder)/\(id)"
          isChanged = true
        } catch { moved.problems[id] = "\(error)" }
      }
      // A service that died before the ends were written may have moved them.
      do { if !absent.isEmpty { moved.paths.merge(try pathsSetAside(of: absent, in: folder)) { $1 } } } catch {
        for id in absent { moved.problems[id] = "\(error)" }
      }
      guard isChanged, let root = sweep.folder else { continue }
      // They are moved also where this fails, and only a power failure could undo it.
      let parent = (root as NSString).deletingLastPathComponent
      for path in ["\(root)/\(folder)", root, parent, "\(directory)/\(folder)"] { try? disk.syncDirectory(path) }
    }
    return moved
  }

  private func sweep(
    _ folder: String, _ name: String, of id: TransferID?, _ needed: NeededFiles, _ date: Date, _ result: inout Sweep
  ) {
    if TransferFiles.isOfProbe(name) { return remove("\(directory)/\(folder)/\(name)", &result) }
    do {
      guard let id, try needed.isKnown(id) else { return try setAside(folder, name, date, &result) }
      remove("\(directory)/\(folder)/\(name)", &result)
    } catch { result.problems.append("\(folder)/\(name): \(error)") }
  }

  private func remove(_ path: String, _ result: inout Sweep) {
    do {
      try disk.remove(path)
      result.removed += 1
    } catch { result.unremoved.append(path) }
  }

  func setAside(_ folder: String, _ name: String, _ date: Date, _ result: inout Sweep) throws {
    let root = result.folder ?? "\(directory)/\(TransferFiles.setAsideName)/\(DatedFolder.name(date))"
    try disk.createDirectory("\(root)/\(folder)")
    try disk.rename("\(directory)/\(folder)/\(name)", to: "\(root)/\(folder)/\(name)")
    result.folder = root
    result.setAside += 1
  }

  /// Removes the files of resume points that no app has taken for a week.
  ///
  /// - Returns: how many.
  func removeForgottenResumeFiles(at date: Date, _ days: KeptDays) throws -> Int {
    var result = Sweep()
    for name in try disk.names(in: deliveryDirectory) where name.hasSuffix(".resume") {
      if isForgotten(name, at: date, days) { remove("\(deliveryDirectory)/\(name)", &result) }
    }
    return result.removed
  }

  /// Whether the transfer has the bytes under a name of its own. Without hard links the file may have the only ones.
  private func isOtherName(_ name: String, of transfer: TransferID) -> Bool {
    var (file, own) = (stat(), stat())
    return lstat("\(deliveryDirectory)/\(name)", &file) == 0 && lstat(partial(transfer), &own) == 0
      && file.st_ino == own.st_ino && file.st_dev == own.st_dev
  }

  /// Apps take the file of a resume point as soon as they hear of it.
  private static let daysOfResumeFiles = 7

  private func isForgotten(_ name: String, at date: Date, _ days: KeptDays) -> Bool {
    guard days["\(TransferFiles.deliveryName)/\(name)"] >= TransferFiles.daysOfResumeFiles else { return false }
    let path = "\(deliveryDirectory)/\(name)"
    let modified = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    return modified.map { date.timeIntervalSince($0) > Double(TransferFiles.daysOfResumeFiles) * 86_400 } ?? false
  }

  /// The days of all that is kept without an app that asks for it, counted until now and written down. Blocks.
  ///
  /// - Parameter failed: called where they could not be counted or written.
  func countKeptDays(clock: any ServiceClock, failed: (any Error) -> Void) -> KeptDays {
    let before = KeptDays.read(in: directory, disk: disk)
    var days = before
    do {
      let resumeFiles = try disk.names(in: deliveryDirectory).filter { $0.hasSuffix(".resume") }
      let folders = try KeptRemains(directory: directory).paths()
      days.count(Set(folders + resumeFiles.map { "\(TransferFiles.deliveryName)/\($0)" }), clock: clock)
      if days != before { try days.write(in: directory, disk: disk) }
    } catch { failed(error) }
    return days
  }
}
