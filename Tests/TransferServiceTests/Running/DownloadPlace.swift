import Foundation
import HTTPSemantics
import Logging
import NIOPosix
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService
@testable import URLLoadingSystem

/// A kind of destination, for tests that all destinations have to pass: makes the destination of one try after another
/// of the same download.
protocol DownloadPlace: AnyObject, Sendable {
  associatedtype Destination: DownloadDestination
  var policy: DownloadPolicy { get }
  /// The destination for the next try, and what the bytes in it are of.
  func open(in context: LoadContext) async throws -> (Destination, DownloadRepresentation)
  /// Another destination, for an answer that is no part.
  func openAnother(in context: LoadContext) async throws -> Destination
  func note(_ event: DownloadEvent, in destination: Destination)
  /// A try has ended without a file; it left `kept`.
  func broke(_ kept: (count: Int64, representation: DownloadRepresentation)?, in destination: Destination) async
  /// Where the complete file is.
  func path(of destination: Destination) -> String
  func close() async throws
}

/// The temporary file of a download task.
final class TemporaryFilePlace: DownloadPlace, @unchecked Sendable {
  // Used by one try after another.
  private var kept: (file: DownloadFile, count: Int64, representation: DownloadRepresentation)?
  private var paths: [String] = []

  let policy = DownloadPolicy.ofSession

  func open(in context: LoadContext) async throws -> (FileSink, DownloadRepresentation) {
    if let (file, count, representation) = kept { return (FileSink(file, at: count, in: context), representation) }
    return (try await openAnother(in: context), DownloadRepresentation(validator: nil, total: nil))
  }

  func openAnother(in context: LoadContext) async throws -> FileSink {
    FileSink(try DownloadFile.create(), at: 0, in: context)
  }

  func note(_ event: DownloadEvent, in destination: FileSink) {}

  func broke(_ kept: (count: Int64, representation: DownloadRepresentation)?, in destination: FileSink) async {
    self.kept = kept.map { (destination.file, $0.count, $0.representation) }
    if kept == nil { await destination.abandon() }
  }

  func path(of destination: FileSink) -> String {
    paths.append(destination.file.url.path)
    return destination.file.url.path
  }

  func close() async throws {
    if let kept { paths.append(kept.file.url.path) }
    for path in paths { unlink(path) }
  }
}

/// The journalled part of a transfer of the service.
final class JournalledPlace: DownloadPlace, @unchecked Sendable {
  private let folder: TemporaryFolder
  private let store: TransferStore
  private let runner: DownloadRunner
  private let pool = NIOThreadPool(numberOfThreads: JournalledPlace.threads)
  private let id: TransferID
  private static let threads = 2

  let policy = DownloadPolicy.ofService
  /// When set, the disk stands still from the beginning of the body on, until this is signalled twice.
  var diskHold: DispatchSemaphore?

  init(_ url: URL) throws {
    folder = try TemporaryFolder()
    let files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    store = try TransferStore.open(in: folder.path)
    pool.start()
    runner = DownloadRunner(
      store: store, files: files, pool: pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 1, owner: 1))
    let session = try store.attach(app: app, identifier: "s", options: SessionOptions())
    let transfer = TransferStore.NewTransfer(.download(url.absoluteString), host: "h")
    id = try #require(try store.create([transfer], session: session.id, date: Date()).ids.first)
  }

  private func job() throws -> DownloadJob {
    DownloadJob(try #require(try store.transfer(id)), options: SessionOptions(), remainingTime: 600)
  }

  func open(in context: LoadContext) async throws -> (JournalledPart, DownloadRepresentation) {
    let job = try job()
    let part = JournalledPart(job, runner: runner, in: context)
    try await part.open()
    return (part, job.representation)
  }

  func openAnother(in context: LoadContext) async throws -> JournalledPart {
    throw ErrorMapping.make(.unknown, because: "A transfer has one part.")
  }

  func note(_ event: DownloadEvent, in destination: JournalledPart) {
    if let diskHold {
      for _ in 0..<JournalledPlace.threads { pool.submit { _ in diskHold.wait() } }
      self.diskHold = nil
    }
    switch event {
    case .began(let loaded, _, _), .resumed(let loaded, _, _), .wasComplete(let loaded, _):
      destination.response = ResponseSummary(
        url: "u", status: loaded.head?.status ?? 0, version: "HTTP/1.1", headers: [], expectedContentLength: -1)
    case .continued, .answered, .startsOver: break
    }
  }

  /// What counts is what the queue says.
  func broke(_ kept: (count: Int64, representation: DownloadRepresentation)?, in destination: JournalledPart) async {
    await destination.close()
    let stored = try? store.transfer(id)?.head.committedOffset
    if let kept { #expect(stored == kept.count) }
  }

  func path(of destination: JournalledPart) -> String { runner.files.complete(id) }

  func close() async throws {
    runner.shutDown()
    try store.close()
    try await pool.shutdownGracefully()
  }
}
