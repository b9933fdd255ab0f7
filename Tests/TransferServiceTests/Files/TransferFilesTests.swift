import Foundation
import SystemFakes
import Testing

@testable import TransferService

@Suite struct TransferFilesTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private let disk = FaultyFileSystem()

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
  }

  private func write(_ path: String, _ text: String = "abc") throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  /// However often its app attaches.
  @Test func aFileThatTheAppHasLeftIsDeliveredUnderTheSameName() throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    for _ in 0..<3 { #expect(try files.makeDelivery(7, count: 3) == first) }
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [] && disk.names(in: files.completeDirectory) == [])
  }

  @Test func aFileThatTheAppHasMovedIsDeliveredAgain() throws {
    try write(files.complete(7))
    let first = try #require(try files.makeDelivery(7, count: 3))
    try FileManager.default.moveItem(atPath: first, toPath: folder.path + "/moved")
    let second = try #require(try files.makeDelivery(7, count: 3))
    #expect(first != second)
    #expect(try Data(contentsOf: URL(fileURLWithPath: second)) == Data("abc".utf8))
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == [])
  }

  /// Also those of an earlier life of the service; and the folder is listed once for all of them.
  @Test func anAcknowledgementRemovesEveryNameOfTheTransfer() throws {
    for name in ["7.a.tmp", "7.b.tmp", "7.c.resume", "71.a.tmp"] { try write("\(files.deliveryDirectory)/\(name)") }
    try files.removeDelivered(7)
    #expect(try disk.names(in: files.deliveryDirectory) == ["7.c.resume", "71.a.tmp"])
    try write("\(files.deliveryDirectory)/71.z.tmp")
    try files.removeDelivered(71)
    #expect(try disk.names(in: files.deliveryDirectory) == ["7.c.resume", "71.z.tmp"], "the folder was listed again")
  }

  @Test func doesNotDeliverAFileOfAnotherLength() throws {
    #expect(try files.makeDelivery(7, count: 3) == nil)
    try write(files.complete(7))
    #expect(try files.makeDelivery(7, count: 4) == nil)
  }

  @Test func theResumeFileOutlivesTheTransfer() throws {
    try write(files.partial(7))
    let path = try files.makeResumeFile(7)
    try write(files.complete(7))
    try files.removeUndelivered(7)
    try files.removeDelivered(7)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try disk.names(in: files.partialDirectory) == [] && disk.names(in: files.completeDirectory) == [])
  }

  @Test func removesOnlyFilesOfKnownTransfersThatNeedThemNoMore() throws {
    for name in [
      "partial/1", "partial/2", "complete/1", "complete/3", "complete/4", "delivery/3.a.tmp",
      "delivery/4.a.tmp", "delivery/4.a.resume",
    ] { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [1], undelivered: [3], isKnown: { $0 <= 4 })
    #expect(try files.sweep(keeping: needed) == .init(removed: 3))
    #expect(try disk.names(in: files.partialDirectory) == ["1"])
    #expect(try disk.names(in: files.completeDirectory).sorted() == ["1", "3"])
    #expect(try disk.names(in: files.deliveryDirectory).sorted() == ["3.a.tmp", "4.a.resume"])
  }

  /// Whatever became of its row, a file may be all that is left of a download.
  @Test func setsAsideFilesThatTheQueueDoesNotKnow() throws {
    let unknown = ["partial/x", "partial/8", "complete/8", "delivery/8.a.tmp"]
    for name in unknown + ["complete/3"] { try write("\(folder.path)/\(name)") }
    let needed = TransferFiles.NeededFiles(unfinished: [], undelivered: [3], isKnown: { $0 <= 4 })
    let sweep = try files.sweep(keeping: needed, date: Date(timeIntervalSince1970: 1_750_000_000))
    #expect(sweep.removed == 0 && sweep.setAside == unknown.count)
    let root = try #require(sweep.folder)
    #expect(root.contains("/set-aside/2025-06-15T15:06:40Z-"))
    for name in unknown { #expect(try disk.size(of: "\(root)/\(name)") == 3, "\(name)") }
    #expect(try disk.names(in: files.completeDirectory) == ["3"])
  }
}
