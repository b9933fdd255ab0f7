import Foundation
import TransferProtocol

/// How long things are kept that no app has asked for.
package struct KeptAges: Sendable, Equatable {
  /// Days on which the service ran and an app did not connect, after which its tasks end and what has arrived is set aside. As
  /// many days later nothing tells of them any more.
  package var absentApp = 90
  /// The same for an app whose program is gone.
  package var removedApp = 30
  /// Such days from which on lists say when that will be.
  package var toldAbsence = 7
  /// Seconds that a folder with files of a damaged queue, or with files that no queue knows, is kept. The service has to have
  /// run on as many days, too: see `KeptDays`.
  package var remains: TimeInterval = TimeInterval(RemainsLimits.days) * 86_400
  /// Bytes of all such folders together. The oldest go first; those of the last day stay.
  package var remainsBytes: Int64 = Int64(RemainsLimits.gibibytes) << 30

  package init() {}
}

/// The folders of files that were set aside: each has the date in its name. Blocks.
struct KeptRemains {
  struct Folder: Equatable {
    var path: String
    var date: Date
    /// On how many days the service ran while it kept the folder.
    var days: Int
    var bytes: Int64
  }

  let directory: String

  /// Removes those that are too old or too much. Others stay, and so do things with other names.
  ///
  /// - Parameter failed: Called with each that can't be removed as a whole. The next time it is tried again.
  func clean(
    _ ages: KeptAges, _ days: KeptDays, at date: Date, failed: (Folder, any Error) -> Void = { _, _ in }
  ) throws -> [Folder] {
    KeptRemains.excess(of: try folders(days), ages, at: date).filter { folder in
      do {
        try FileManager.default.removeItem(atPath: folder.path)
        return true
      } catch {
        failed(folder, error)
        return false
      }
    }
  }

  static func excess(of folders: [Folder], _ ages: KeptAges, at date: Date) -> [Folder] {
    var total: Int64 = 0
    return folders.sorted { $0.date > $1.date }.filter { folder in
      total = total.saturatingAdd(folder.bytes)
      func isKept(for seconds: TimeInterval) -> Bool {
        date.timeIntervalSince(folder.date) > seconds && Double(folder.days) >= (seconds / 86_400).rounded(.down)
      }
      return isKept(for: ages.remains) || total > ages.remainsBytes && isKept(for: 86_400)
    }
  }

  /// The folders, as paths in the service's folder.
  func paths() throws -> [String] {
    try [TransferFiles.setAsideName, QueueQuarantine.folderName].flatMap { name -> [String] in
      let root = "\(directory)/\(name)"
      guard FileManager.default.fileExists(atPath: root) else { return [] }
      return try FileManager.default.contentsOfDirectory(atPath: root)
        .compactMap { DatedFolder.date($0) == nil ? nil : "\(name)/\($0)" }
    }
  }

  private func folders(_ days: KeptDays) throws -> [Folder] {
    try paths().compactMap { path in
      guard let date = DatedFolder.date((path as NSString).lastPathComponent) else { return nil }
      let place = "\(directory)/\(path)"
      return Folder(path: place, date: date, days: days[path], bytes: bytes(in: place))
    }
  }

  private func bytes(in folder: String) -> Int64 {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
    return names.reduce(0) { total, name in
      var status = stat()
      guard lstat("\(folder)/\(name)", &status) == 0 else { return total }
      return total.saturatingAdd(Int64(status.st_size))
    }
  }
}
