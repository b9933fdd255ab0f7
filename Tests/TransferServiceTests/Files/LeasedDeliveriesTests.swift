import Foundation
import LoopbackServer
import Synchronization
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Files that apps get under a lease.
@Suite struct LeasedDeliveriesTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  private let disk = FaultyFileSystem()
  private let reports = Recorder<String>()

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
    try write(files.complete(7), "abc")
  }

  /// Copies are made on threads of their own.
  private func later(after delay: Duration = .seconds(3_600), leastSize: Int64 = 0) -> TransferFiles.LaterCopies {
    let reports = self.reports
    return TransferFiles.LaterCopies(
      run: { _, job in Thread.detachNewThread { job() } }, delay: delay, leastSize: leastSize, unclaimed: { $0 },
      report: { reports.record($0) })
  }

  private func deliver(_ files: TransferFiles? = nil, after delay: Duration = .seconds(3_600)) throws -> String {
    try #require(try (files ?? self.files).makeDelivery(7, count: 3, later: later(after: delay)))
  }

  /// As a new life of the service finds the folder.
  private func restarted() -> TransferFiles {
    files.leases.releaseAll()
    return TransferFiles(directory: folder.path, disk: disk)
  }

  private func write(_ path: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  /// Opens the file for writing, which may take a while, and writes three bytes.
  private static func overwrite(_ path: String, flags: Int32 = 0) -> Bool {
    let descriptor = open(path, O_RDWR | O_CLOEXEC | flags)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return pwrite(descriptor, "xyz", 3, 0) == 3
  }

  private static func overwriteMapped(_ path: String) -> Bool {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard let memory = mmap(nil, 3, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED else {
      return false
    }
    memory.copyMemory(from: "xyz", byteCount: 3)
    return munmap(memory, 3) == 0
  }

  /// The app's work, on a thread of its own: it waits in the kernel.
  private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async throws -> Value {
    try await within(patience, "a writer") {
      await withCheckedContinuation { done in Thread.detachNewThread { done.resume(returning: work()) } }
    }
  }

  private func isSame(_ path: String, _ other: String) -> Bool {
    FileIdentity(path: path) == FileIdentity(path: other)
  }

  @Test func aLeasedFileIsALinkAndNotCopied() throws {
    let path = try deliver()
    #expect(isSame(path, files.complete(7)) && files.leases.count == 1)
    #expect(try deliver() == path)
    #expect(try text(path) == "abc")
    #expect(!disk.log.contains { $0.hasPrefix("copy") })
    try files.removeDelivered(7)
    #expect(files.leases.count == 0)
    #expect(try disk.names(in: files.completeDirectory) == [] && disk.names(in: files.deliveryDirectory) == [])
  }

  /// It is moved, and written into after the service has forgotten it.
  @Test func aFileThatTheAppHasKeepsNoMark() throws {
    let path = try deliver()
    let kept = folder.path + "/kept"
    #expect(rename(path, kept) == 0)
    try files.removeDelivered(7)
    let file = try SourceFile.open(kept)
    #expect(try ReceivedMark.fits(file) == nil)
    #expect(Self.overwrite(kept))
  }

  enum Change: String, CaseIterable {
    case write, cut, truncate, map
  }

  @Test(arguments: Change.allCases) func aWriterWaitsUntilThereIsACopy(change: Change) async throws {
    let path = try deliver()
    let isDone = try await onThread {
      switch change {
      case .write: Self.overwrite(path)
      case .cut: Self.overwrite(path, flags: O_TRUNC)
      case .truncate: truncate(path, 1) == 0
      case .map: Self.overwriteMapped(path)
      }
    }
    #expect(isDone)
    #expect(try text(path) == (change == .truncate ? "a" : "xyz"))
    #expect(try text(files.complete(7)) == "abc" && !isSame(path, files.complete(7)))
    let again = try deliver()
    #expect(try again != path && text(again) == "abc")
    #expect(reports.all == [])
    try files.removeDelivered(7)
    #expect(files.leases.count == 0)
  }

  @Test func aFileThatIsNotAcknowledgedIsCopiedAfterAMoment() async throws {
    let path = try deliver(after: .milliseconds(1))
    try await eventually("a copy") { files.leases.count == 0 }
    #expect(try !isSame(path, files.complete(7)) && text(files.complete(7)) == "abc")
    #expect(try disk.names(in: files.deliveryDirectory).count == 1)
    #expect(Self.overwrite(path))
    #expect(try text(files.complete(7)) == "abc")
  }

  /// A copy that was planned waits in the line for others, and a process begins to wait for it.
  @Test func aCopyThatAWriterWaitsForComesFirst() async throws {
    let planned = Recorder<@Sendable () -> Void>()
    let isPlanned = Gate()
    var later = self.later(after: .milliseconds(1))
    later.run = { comesFirst, job in
      if comesFirst { return Thread.detachNewThread { job() } }
      planned.record(job)
      isPlanned.open()
    }
    let path: String = try #require(try files.makeDelivery(7, count: 3, later: later))
    try await isPlanned.wait(within: patience)
    #expect(try await onThread { Self.overwrite(path) })
    #expect(try text(path) == "xyz" && text(files.complete(7)) == "abc")
    // Its turn in the line comes, too.
    for job in planned.all { job() }
    #expect(try text(files.complete(7)) == "abc" && disk.names(in: files.deliveryDirectory).count == 1)
    #expect(reports.all == [] && files.leases.count == 0)
  }

  @Test func anAcknowledgementLetsAWriterGoOn() async throws {
    var later = self.later()
    later.run = { _, _ in }
    let delivered: String = try #require(try files.makeDelivery(7, count: 3, later: later))
    let path = folder.path + "/moved"
    #expect(rename(delivered, path) == 0)
    let writer = Task { try await onThread { Self.overwrite(path) } }
    try await eventually("a writer that waits") { files.leases[7]?.lease.isWhole == false }
    try files.removeDelivered(7)
    #expect(try await writer.value)
    #expect(try text(path) == "xyz" && disk.names(in: files.completeDirectory) == [] && files.leases.count == 0)
  }

  /// A copy that is being made when the app acknowledges takes no name.
  @Test func nothingIsLeftOfACopyThatComesTooLate() async throws {
    let first = try deliver(after: .milliseconds(1))
    try await disk.holding(.sync, path: "delivery/7") { isHeld in
      try await eventually("a copy") { isHeld() }
      try files.removeDelivered(7)
    }
    #expect(access(first, F_OK) != 0)
    try await eventually("the end of the copy") { try disk.names(in: files.deliveryDirectory) == [] }
    #expect(try disk.names(in: files.completeDirectory) == [])
  }

  @Test func withoutLeasesItIsCopied() throws {
    let files = TransferFiles(directory: folder.path, disk: LeaselessFileSystem())
    let path = try deliver(files)
    #expect(!isSame(path, files.complete(7)) && files.leases.count == 0)
    #expect(Self.overwrite(path))
    #expect(try text(files.complete(7)) == "abc")
  }

  @Test func aFileThatIsOpenForWritingIsCopied() throws {
    let descriptor = open(files.complete(7), O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    let path = try deliver()
    #expect(!isSame(path, files.complete(7)) && files.leases.count == 0)
  }

  @Test func aSmallFileIsCopied() throws {
    let path = try #require(try files.makeDelivery(7, count: 3, later: later(leastSize: 4)))
    #expect(!isSame(path, files.complete(7)))
  }

  @Test func thereAreOnlySoManyLeases() throws {
    let watch = LeaseWatch(limit: 1)
    let file = try SourceFile.open(files.complete(7))
    let first = try #require(watch.take(file, of: disk))
    #expect(watch.take(file, of: disk) == nil)
    watch.release(first)
    #expect(watch.count == 0)
    let second = try #require(watch.take(file, of: disk), "its thread begins again")
    watch.release(second)
  }

  /// The machine has no more threads for a moment. One that begins too late ends.
  @Test func thereAreLeasesAfterAThreadCouldNotBeStarted() throws {
    // Leases are taken on this thread alone.
    nonisolated(unsafe) var late: Thread?
    let watch = LeaseWatch { thread in
      if late == nil { late = thread } else { thread.start() }
    }
    let file = try SourceFile.open(files.complete(7))
    #expect(watch.take(file, of: disk) == nil)
    let lease = try #require(watch.take(file, of: disk))
    try #require(late).start()
    #expect(watch.count == 1 && lease.isWhole)
    watch.release(lease)
  }

  @Test func withoutRoomAWriterGoesOnAndTheChangeIsFound() async throws {
    disk.setFreeSpace(0)
    let path = try deliver(after: .milliseconds(1))
    #expect(files.leases.count == 1)
    #expect(try await onThread { Self.overwrite(path) })
    #expect(reports.all.count == 1 && files.leases.count == 0)
    #expect(try text(files.complete(7)) == "xyz")
    #expect(throws: TransferFiles.ChangedFile.self) { try deliver() }
  }

  // MARK: The service is killed

  @Test func anUnchangedFileIsLeasedAgain() throws {
    let path = try deliver()
    let next = restarted()
    #expect(try deliver(next) == path && next.leases.count == 1)
    try next.removeDelivered(7)
  }

  @Test(arguments: Change.allCases) func aChangedFileIsNotDelivered(change: Change) throws {
    let path = try deliver()
    let next = restarted()
    switch change {
    case .write: #expect(Self.overwrite(path))
    case .cut: #expect(Self.overwrite(path, flags: O_TRUNC))
    case .truncate: #expect(truncate(path, 1) == 0)
    case .map: #expect(Self.overwriteMapped(path))
    }
    #expect(throws: TransferFiles.ChangedFile.self) { try deliver(next) }
    #expect(next.leases.count == 0)
  }

  /// An app that has it open for writing has not written yet.
  @Test func aFileThatCanNotBeLeasedAgainIsCopied() throws {
    let path = try deliver()
    let next = restarted()
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(try deliver(next) == path, "it still has the bytes")
    #expect(!isSame(path, files.complete(7)) && next.leases.count == 0)
    #expect(pwrite(descriptor, "xyz", 3, 0) == 3)
    #expect(try text(try deliver(next)) == "abc")
    try next.removeDelivered(7)
  }

  @Test func permissionsThatTheAppTookAwayAreRestored() throws {
    let path = try deliver()
    #expect(chmod(path, 0) == 0)
    let next = restarted()
    #expect(try deliver(next) == path)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    try next.removeDelivered(7)
  }

  /// The date of a file that was just received is one that a change soon after does not have.
  @Test func aChangeAtOnceIsFound() throws {
    for _ in 0..<50 {
      try write(files.complete(7), "abc")
      let file = try SourceFile.open(files.complete(7))
      try ReceivedMark.set(on: file)
      #expect(try ReceivedMark.fits(file) == true)
      #expect(Self.overwrite(files.complete(7)))
      #expect(try ReceivedMark.fits(file) == false)
    }
  }

  @Test func noDescriptorIsLeftOpen() throws {
    for _ in 0..<3 {
      _ = try deliver()
      try files.removeDelivered(7)
      try write(files.complete(7), "abc")
    }
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(folder.path)
        == true
    }
    #expect(open == [])
  }
}
