import Dispatch
import Foundation
import Logging
import LoopbackServer
import Synchronization
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Copies of files that something happens to meanwhile.
@Suite struct UploadSnapshotsTests {
  private let folder: TemporaryFolder
  private let path: String
  private let key: QueueKey

  init() throws {
    folder = try TemporaryFolder()
    path = try folder.subfolder("app") + "/file"
    try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
    key = QueueKey(ofQueue: "tests", file: folder.path + "/key") { nil }
  }

  private func snapshots(_ disk: any DurableFileSystem) async throws -> UploadSnapshots {
    await key.settle()
    let files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
    return UploadSnapshots(files: files, key: key, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
  }

  private func source(_ task: Int = 1) throws -> UploadSnapshots.Source {
    .init(task: .upload(path, to: "http://h/", task: task), file: try SourceFile.open(path))
  }

  private func take(
    _ sources: [UploadSnapshots.Source], with snapshots: UploadSnapshots, of app: String = "/app", room: Int64 = .max
  ) async throws -> [StoredUpload] {
    let result = Recorder<Result<[String: StoredUpload], any Error>>()
    snapshots.take(sources, of: app, room: room) { result.record($0) }
    let taken = try await result.next().get()
    return sources.compactMap { taken[$0.task.token] }
  }

  /// The bytes that a copy stands for.
  private func copy(_ stored: StoredUpload?, of token: String = "token-1") throws -> Data? {
    guard let stored, let sealed = stored.sealedCopy,
      case .open(let content) = key.unsealFields(sealed.key, for: SealedCopy.purpose(of: token))
    else { return nil }
    let chunks = SealedChunks(key: .init(data: content), count: stored.size)
    let body = try SealedBody(copy: "\(folder.path)/uploads/\(sealed.name)", chunks: chunks, path: stored.path)
    return try body?.whole()
  }

  private static func write(_ text: String, to path: String, at offset: UInt64? = nil) {
    guard let file = FileHandle(forWritingAtPath: path) else { return }
    if let offset { try? file.seek(toOffset: offset) } else { _ = try? file.seekToEnd() }
    try? file.write(contentsOf: Data(text.utf8))
    try? file.close()
  }

  /// A log, say, that is written to all the time.
  @Test(arguments: [true, false]) func aFileThatGrowsIsCopiedAsLongAsItWas(isBefore: Bool) async throws {
    let grow: @Sendable (SourceFile) -> Void = { [path] _ in Self.write("more", to: path) }
    let disk = ChangingFileSystem(before: { if isBefore { grow($0) } }, after: { if !isBefore { grow($0) } })
    let stored = try await take([source()], with: try await snapshots(disk)).first
    #expect(stored?.problem == nil && stored?.size == 3)
    #expect(try copy(stored) == Data("abc".utf8))
  }

  @Test func aFileThatGetsShorterIsNotSent() async throws {
    let disk = ChangingFileSystem(before: { [path] _ in truncate(path, 1) })
    let stored = try await take([source()], with: try await snapshots(disk)).first
    #expect(stored?.problem?.contains("became shorter") == true && stored?.copyName == nil)
    #expect(try LinuxFileSystem().names(in: folder.path + "/uploads") == [])
  }

  @Test func aFileThatIsWrittenWhileItIsCopiedIsNotSent() async throws {
    let number = Mutex(0)
    // Each time another date.
    let disk = ChangingFileSystem(before: { [path] _ in
      let second = number.withLock { number in
        number += 1
        return number
      }
      Self.write("x", to: path, at: 0)
      utimensat(AT_FDCWD, path, [timespec(tv_sec: second, tv_nsec: 0), timespec(tv_sec: second, tv_nsec: 0)], 0)
    })
    let stored = try await take([source()], with: try await snapshots(disk)).first
    #expect(stored?.problem?.contains("was being written") == true && stored?.copyName == nil)
  }

  /// The blocks are the app's own, in clear in the app's file as well. Nothing is sealed, and nothing is read.
  @Test func aCopyThatSharesItsBlocksStaysPlain() async throws {
    let stored = try await take([source()], with: try await snapshots(CloningFileSystem())).first
    let name = try #require(stored?.copy)
    #expect(stored?.sealedCopy == nil)
    #expect(FileManager.default.contents(atPath: "\(folder.path)/uploads/\(name)") == Data("abc".utf8))
  }

  @Test func anotherCopyIsSealedAndPrivate() async throws {
    let stored = try await take([source()], with: try await snapshots(LinuxFileSystem())).first
    let sealed = try #require(stored?.sealedCopy)
    #expect(stored?.copy == nil, "an earlier version would take it for the file")
    let path = "\(folder.path)/uploads/\(sealed.name)"
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(FileManager.default.contents(atPath: path)?.range(of: Data("abc".utf8)) == nil)
    #expect(try copy(stored) == Data("abc".utf8))
    #expect(try copy(stored, of: "token-2") == nil, "it is of use with its own task alone")
  }

  @Test func withoutAKeyNothingIsLeft() async throws {
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    let none = QueueKey(ofQueue: "tests") { nil }
    await none.settle()
    let snapshots = UploadSnapshots(
      files: files, key: none, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    await #expect(throws: UploadSnapshots.NoKey.self) { _ = try await take([source()], with: snapshots) }
    #expect(try LinuxFileSystem().names(in: folder.path + "/uploads") == [])
  }

  /// By its size at the start.
  @Test func filesAreCopiedAsFarAsTheAppHasRoom() async throws {
    let snapshots = try await snapshots(LinuxFileSystem())
    let stored = try await take([source(1), source(2), source(3)], with: snapshots, room: 6)
    #expect(stored.count { $0.copyName != nil } == 2)
    #expect(stored.first { $0.copyName == nil }?.problem?.contains("more than the app may") == true)
  }

  /// The app's own file is sent then.
  @Test func spaceOfRunningDownloadsIsNotCopiedInto() async throws {
    let disk = ChangingFileSystem(free: TransferFiles.roomBesideCopies + 1_000)
    let snapshots = try await snapshots(disk)
    let space = snapshots.files.space
    #expect(space.claim(990, for: 7, free: .max) == nil)
    let without = try await take([source()], with: snapshots).first
    #expect(without?.copyName == nil && without?.problem == nil)
    space.wrote(7, rest: 500)
    #expect(try await take([source()], with: snapshots).first?.copyName != nil)
    space.release(7)
    #expect(space.available(of: 1_000) == 1_000, "the copy claims nothing any more")
  }

  @Test func copiesDoNotTakeTheSpaceOfEachOther() async throws {
    let hangs = DispatchSemaphore(value: 0)
    let started = Recorder<Void>()
    let opened = Mutex(0)
    let disk = ChangingFileSystem(
      free: TransferFiles.roomBesideCopies + 30,
      before: { _ in
        let number = opened.withLock { number in
          number += 1
          return number
        }
        guard number == 1 else { return }
        started.record(())
        hangs.wait()
      })
    let snapshots = try await snapshots(disk)
    let ended = Recorder<Result<[String: StoredUpload], any Error>>()
    snapshots.take([try source()], of: "/slow", room: .max) { ended.record($0) }
    try await started.next()
    // A copy of three bytes has nineteen.
    #expect(snapshots.files.space.available(of: 30) == 11)
    #expect(try await take([source(2)], with: snapshots, of: "/fast").first?.copyName == nil)
    hangs.signal()
    #expect(try await ended.next().get().values.first?.copyName != nil)
    #expect(try await take([source(2)], with: snapshots, of: "/fast").first?.copyName != nil)
    #expect(snapshots.files.space.available(of: 30) == 30)
  }

  @Test func whatIsNotOpenForReadingFailsItsTaskOnly() async throws {
    let closed = UploadSnapshots.Source(
      task: .upload(path, to: "http://h/", task: 2), file: SourceFile(owning: open(path, O_WRONLY | O_CLOEXEC)))
    let device = UploadSnapshots.Source(
      task: .upload("/dev/null", to: "http://h/", task: 3), file: SourceFile(owning: open("/dev/null", O_RDONLY)))
    let stored = try await take([source(), closed, device], with: try await snapshots(LinuxFileSystem()))
    #expect(stored.map { $0.copyName != nil } == [true, false, false])
    #expect(stored[1].problem?.contains("permission") == true && stored[2].problem?.contains("is not a file") == true)
  }

  /// A file system that hangs keeps the copies of its own files only.
  @Test func copiesThatHangDoNotHoldUpThoseOfOtherApps() async throws {
    let hangs = DispatchSemaphore(value: 0)
    let started = Recorder<Void>()
    let slow = path
    let fast = try folder.subfolder("other") + "/file"
    try Data("fast".utf8).write(to: URL(fileURLWithPath: fast))
    let size = Int64(3)
    let disk = ChangingFileSystem(before: { file in
      guard (try? file.regularStatus().st_size).map(Int64.init) == size else { return }
      started.record(())
      hangs.wait()
    })
    let snapshots = try await snapshots(disk)
    let ended = Recorder<Result<[String: StoredUpload], any Error>>()
    snapshots.take(try (1...8).map { try source($0) }, of: "/slow") { ended.record($0) }
    try await started.next()
    let other = UploadSnapshots.Source(
      task: .upload(fast, to: "http://h/", task: 9), file: try SourceFile.open(fast))
    let stored = try await take([other], with: snapshots, of: "/fast")
    #expect(stored.first?.copyName != nil && ended.all.isEmpty, "\(slow)")
    for _ in 1...8 { hangs.signal() }
    #expect(try await ended.next().get().count == 8)
  }
}
