import Crypto
import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

/// The files of journals: `journals/7` for transfer 7. The first line of each is a checksum of the rest, which is JSON.
struct JournalFolder: Sendable {
  static let name = "journals"

  let directory: String
  let disk: any DurableFileSystem

  init(in directory: String, disk: any DurableFileSystem) {
    self.directory = "\(directory)/\(JournalFolder.name)"
    self.disk = disk
  }

  func path(_ transfer: TransferID) -> String { "\(directory)/\(transfer)" }

  /// The transfers that have a journal.
  func transfers() throws -> [TransferID] { try disk.names(in: directory).compactMap { TransferID($0) }.sorted() }

  /// The highest number of a transfer whose journal can be read; 0 where there is none. A name alone says nothing.
  func highestTransfer() throws -> TransferID {
    try transfers().last { try $0 < TransferNumbers.end && read($0) != nil } ?? 0
  }

  /// nil where there is none, and for one that is damaged or from a newer version. Throws where the machine can't read it now.
  func read(_ transfer: TransferID) throws -> TransferJournal? {
    guard let content = try disk.readableContent(of: path(transfer)),
      let end = content.firstIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    let encoded = content[content.index(after: end)...]
    guard content[..<end].elementsEqual(JournalFolder.checksum(of: encoded)) else { return nil }
    let journal = try? MessageFraming.decode(TransferJournal.self, from: Data(encoded))
    return journal?.transfer == transfer ? journal : nil
  }

  /// The file has its content before it has its name. The name itself is not waited for: after a power failure there may be
  /// an earlier journal or none, which says less, and nothing that is wrong.
  func write(_ journal: TransferJournal) throws {
    // One that can't be read now is written again.
    if let present = try? read(journal.transfer), present == journal { return }
    let encoded = try MessageFraming.encode(journal)
    let content = JournalFolder.checksum(of: encoded) + [UInt8(ascii: "\n")] + encoded
    let new = "\(path(journal.transfer)).new"
    // Left behind by a service that was killed.
    try disk.remove(new)
    let file = try disk.open(new)
    do {
      defer { try? file.close() }
      try content.withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
    } catch {
      try? disk.remove(new)
      throw error
    }
    try disk.rename(new, to: path(journal.transfer))
  }

  /// Throws where a journal of the transfer can't be written now, but for lack of room: some is kept for it.
  func probe(_ transfer: TransferID) throws {
    do { try disk.probe("\(path(transfer)).new", writing: 1) } catch let error as SystemError where error.isNoSpace {}
  }

  /// Has a journal that was written outlive a power failure.
  func sync() throws { try disk.syncDirectory(directory) }

  func remove(_ transfer: TransferID) throws { try disk.remove(path(transfer)) }

  /// Removes a journal whose bytes are about to be overwritten, so that no power failure brings it back.
  func removeForGood(_ transfer: TransferID) throws {
    guard try disk.size(of: path(transfer)) != nil else { return }
    try disk.remove(path(transfer))
    try disk.syncDirectory(directory)
  }

  private static func checksum(of content: some DataProtocol) -> [UInt8] {
    Array(SHA256.hash(data: content).hexText.utf8)
  }
}
