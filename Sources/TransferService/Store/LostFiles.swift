import Foundation
import SystemServices
import TransferProtocol

/// The files of transfers that were lost with a damaged queue, or begin anew in the one that takes its place. They are moved
/// into the folder of the damaged queue.
///
/// They are where they were until the new queue has its name, since it is made of some of them and a service that is killed
/// before makes it again. From before that until all are moved, the folder has a list of them: the next service moves
/// the rest, and does not take them for files that no transfer needs.
struct LostFiles: Codable, Equatable {
  /// Transfers that are over.
  var lost: [TransferID] = []
  /// Transfers that go on with nothing of what has arrived.
  var forgotten: [TransferID] = []

  /// The place of the files, and the folder that they come into.
  struct Place {
    let directory: String
    let folder: String
    let disk: any DurableFileSystem

    fileprivate var list: String { "\(folder)/lost-files.json" }

    /// On the disk when it returns.
    fileprivate func makeFolder() throws {
      try disk.createDirectory(folder)
      let parent = (folder as NSString).deletingLastPathComponent
      for path in parent == directory ? [directory] : [parent, directory] { try disk.syncDirectory(path) }
    }
  }

  /// On the disk when it returns.
  func note(in place: Place) throws {
    try place.makeFolder()
    try place.disk.replace(place.list) { file in
      try MessageFraming.encode(self).withUnsafeBytes { try file.write($0, at: 0) }
    }
  }

  /// The queue is made again: an earlier list is of no use.
  static func forgetList(in place: Place) throws { try place.disk.remove(place.list) }

  /// Moves the files that are listed, where there is a list.
  static func moveListed(in place: Place) throws {
    guard try place.disk.size(of: place.list) != nil else { return }
    // It gets its name when it is whole. One that the disk has damaged says nothing.
    let content = try Data(contentsOf: URL(fileURLWithPath: place.list))
    if let files = try? MessageFraming.decode(LostFiles.self, from: content) { try files.move(in: place) }
    try place.disk.remove(place.list)
  }

  private func move(in place: Place) throws {
    for name in [TransferFiles.partialName, TransferFiles.completeName, JournalFolder.name] {
      try LostFiles.move(lost + forgotten, name, in: place)
    }
    try LostFiles.move(lost, TransferFiles.uploadName, in: place)
  }

  private static func move(_ transfers: [TransferID], _ name: String, in place: Place) throws {
    let (source, destination) = ("\(place.directory)/\(name)", "\(place.folder)/\(name)")
    let present = try transfers.filter { try place.disk.size(of: "\(source)/\($0)") != nil }
    guard !present.isEmpty else { return }
    try place.disk.createDirectory(destination)
    // Before it has files that are nowhere else.
    try place.disk.syncDirectory(place.folder)
    for id in present { try place.disk.rename("\(source)/\(id)", to: "\(destination)/\(id)") }
    for folder in [destination, source] { try place.disk.syncDirectory(folder) }
  }
}
