import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Files that are used again.
@Suite struct SpareFilesTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private let disk = FaultyFileSystem()

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
  }

  private func write(_ file: any DurableFile, _ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try file.write($0, at: 0) }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  private func number(_ path: String) -> ino_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_ino : nil
  }

  /// Receives a file, under its complete name. Returns its number.
  @discardableResult
  private func receive(_ transfer: TransferID, _ text: String, in files: TransferFiles? = nil) throws -> ino_t? {
    let files = files ?? self.files
    let part = try files.openPart(transfer)
    defer { try? part.close() }
    try write(part, text)
    try disk.rename(files.partial(transfer), to: files.complete(transfer))
    return number(files.complete(transfer))
  }

  private var spares: [String] { get throws { try disk.names(in: files.spareDirectory) } }

  @Test func aFileThatItsAppHasBecomesAPart() throws {
    let first = try receive(1, "first")
    let delivery = try #require(try files.makeDelivery(1, count: 5))
    try disk.rename(delivery, to: folder.path + "/kept")
    try files.removeDelivered(1)
    #expect(try disk.names(in: files.completeDirectory) == [] && spares.count == 1)
    let part = try files.openPart(2)
    defer { try? part.close() }
    #expect(try part.size == 0, "nothing of another app is left in it")
    #expect(number(files.partial(2)) == first)
    #expect(try spares.isEmpty)
    #expect(try text(folder.path + "/kept") == "first")
  }

  @Test func aFileThatItsAppHasBecomesACopyForAnother() throws {
    let first = try receive(1, "the first, which is longer")
    _ = try receive(2, "second")
    _ = try files.makeDelivery(1, count: 26)
    try files.removeDelivered(1)
    let delivery = try #require(try files.makeDelivery(2, count: 6))
    #expect(try text(delivery) == "second")
    #expect(number(delivery) == first)
    #expect(number(delivery) != number(files.complete(2)))
    #expect(disk.log.last { $0.hasPrefix("sync ") } == "sync delivery/\((delivery as NSString).lastPathComponent)")
  }

  enum Shared: CaseIterable {
    /// The app has a link, for want of room for a copy; a link that it made itself; or its resume file is the part.
    case linked, linkedByApp, resumed, takenOver
    /// An earlier life of the service made it, and may have given it away.
    case fromBefore
    case large
  }

  /// An app would see what arrives for another one, or change it.
  @Test(arguments: Shared.allCases) func aFileThatAnAppMayHaveIsNotUsedAgain(shared: Shared) throws {
    var files = self.files
    switch shared {
    case .linked:
      try receive(1, "abc")
      disk.setFreeSpace(0)
      _ = try files.makeDelivery(1, count: 3)
      disk.setFreeSpace(nil)
    case .linkedByApp:
      try receive(1, "abc")
      #expect(link(files.complete(1), folder.path + "/link") == 0)
    case .resumed:
      try write(try files.openPart(1), "abc")
      _ = try files.makeResumeFile(1)
      try disk.rename(files.partial(1), to: files.complete(1))
    case .takenOver:
      try Data("abc".utf8).write(to: URL(fileURLWithPath: folder.path + "/mine"))
      let opened = OpenedResumeFile(
        folder: try HeldFolder(folder.path), name: "mine", file: try SourceFile.open(folder.path + "/mine"))
      #expect(try files.takeOver(opened, for: 1, count: 3))
      try files.openPart(1, count: 3).close()
      try disk.rename(files.partial(1), to: files.complete(1))
    case .fromBefore:
      try receive(1, "abc")
      files = TransferFiles(directory: folder.path, disk: disk)
    case .large:
      try receive(1, "abc")
      #expect(truncate(files.complete(1), off_t(SpareFiles.largestSize) + 1) == 0)
    }
    try files.removeDelivered(1)
    #expect(try disk.names(in: files.completeDirectory) == [] && spares.isEmpty)
    #expect(files.spares.take() == nil)
    if shared == .linkedByApp { #expect(try text(folder.path + "/link") == "abc") }
    if shared == .takenOver { #expect(try text(folder.path + "/mine") == "abc") }
  }

  /// The app acknowledges over a lost connection while the file is made ready once more.
  @Test func aFileThatIsBeingReadIsNotUsedAgain() throws {
    try receive(1, "abc")
    try files.spares.reading(1) { try files.removeDelivered(1) }
    #expect(files.spares.take() == nil)
    #expect(try disk.names(in: files.completeDirectory) == [])
    try receive(2, "abc")
    files.spares.reading(2) { files.spares.reading(2) {} }
    try files.removeDelivered(2)
    #expect(files.spares.take() != nil)
  }

  /// The second transfer has a part that is made, and so has one that begins again.
  @Test func aSpareFileThatHasGoneIsMade() throws {
    try receive(1, "abc")
    try files.removeDelivered(1)
    for name in try spares { try disk.remove("\(files.spareDirectory)/\(name)") }
    try receive(2, "def")
    #expect(try text(files.complete(2)) == "def")
    try files.removeDelivered(2)
    try receive(3, "ghi")
    #expect(files.spares.take() == nil)
    #expect(try text(files.complete(3)) == "ghi")
  }

  @Test func aFileThatCanNotBeEmptiedIsRemoved() throws {
    try receive(1, "abc")
    disk.set([.init(.truncate, code: EIO, path: "spare", times: 1)])
    try files.removeDelivered(1)
    #expect(try spares.isEmpty && disk.names(in: files.completeDirectory) == [])
    #expect(files.spares.take() == nil)
  }

  @Test func aCopyThatFailsIsMadeAnew() throws {
    try receive(1, "abc")
    try receive(2, "def")
    try files.removeDelivered(1)
    disk.set([.init(.write, code: EIO, path: "delivery", times: 1)])
    let delivery = try #require(try files.makeDelivery(2, count: 3))
    #expect(try text(delivery) == "def" && spares.isEmpty)
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
  }

  @Test func thereAreOnlySoMany() throws {
    let count = SpareFiles.limit + 3
    for id in 1...TransferID(count) { try receive(id, "abc") }
    for id in 1...TransferID(count) { try files.removeDelivered(id) }
    #expect(try spares.count == SpareFiles.limit && disk.names(in: files.completeDirectory) == [])
  }

  /// They are of no use to the next life of the service.
  @Test func theNextStartRemovesThem() throws {
    try receive(1, "abc")
    try files.removeDelivered(1)
    let next = TransferFiles(directory: folder.path, disk: disk)
    let sweep = try next.sweep(keeping: .init(unfinished: [], undelivered: [], isKnown: { _ in false }))
    #expect(sweep.removed == 1 && sweep.setAside == 0)
    #expect(try spares.isEmpty)
  }
}
