import Crypto
import EveryVersion
import Foundation
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// One try at a time at a request that is not repeated, whose answer the disk does not take at once.
extension DownloadRunTests {
  private func awaitsStorage(_ reports: [DownloadReport]) -> Bool {
    reports.contains { if case .awaitsStorage = $0 { true } else { false } }
  }

  private func content(of id: TransferID) throws -> String {
    try String(contentsOfFile: files.complete(id), encoding: .utf8)
  }

  static let refusals: [FaultyFileSystem.Fault] = [EIO, EROFS, ENOSPC, EAGAIN].flatMap { code in
    [
      .init(.open, code: code, path: "partial/", after: 1, times: 1),
      .init(.write, code: code, path: "partial/", times: 2),
      .init(.sync, code: code, path: "partial/", times: 1),
      .init(.syncDirectory, code: code, path: "partial", times: 1),
      .init(.rename, code: code, path: "partial/", times: 1),
      .init(.syncDirectory, code: code, path: "complete", times: 1),
    ]
  }

  /// A disk that is full, or a process that is short of something, holds no other transfer up.
  @Test(arguments: refusals) func anAnswerWaitsForTheDisk(refusal: FaultyFileSystem.Fault) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    let id = try post(server.url("/file"))
    disk.set([refusal])
    let (outcome, reports) = try await attempt(id)
    #expect(finishedSize(outcome) == 4, "\(outcome)")
    #expect(try content(of: id) == "done" && disk.faultsLeft(of: refusal.operation, refusal.path) == 0)
    #expect(awaitsStorage(reports) == (refusal.code == EIO || refusal.code == EROFS))
    let stored = try #require(try store.transfer(id))
    #expect(stored.head.committedOffset == 4 && stored.response?.status == 200)
    #expect(server.heads.count == 1)
    await server.shutdown()
  }

  @Test(arguments: [EIO, ENOSPC]) func theAnswerToAnUploadWaitsForTheDisk(code: Int32) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("in") }
    let id = try upload(Data("file".utf8), to: server.url("/upload"), method: "POST")
    disk.set([.init(.write, code: code, path: "partial/", times: 1)])
    #expect(finishedSize(try await attempt(id).outcome) == 2)
    #expect(try content(of: id) == "in" && disk.faultsLeft(of: .write, "partial/") == 0)
    #expect(server.heads.count == 1)
    await server.shutdown()
  }

  /// The end of the service and a cancellation do not wait for the disk.
  @Test(arguments: [true, false]) func anAnswerThatWaitsCanBeGivenUp(isStopped: Bool) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    let id = try post(server.url("/file"))
    disk.set([.init(.write, code: EIO, path: "partial/")])
    let (outcome, _) = try await attempt(id) { run, reports in
      try await eventually("an answer that waits") { awaitsStorage(reports.all) }
      // It may do harm when it is made again.
      run.stopIfRepeatable()
      if isStopped { run.stop() } else { disk.set([]) }
    }
    if isStopped { #expect(outcome.wasStopped, "\(outcome)") } else { #expect(finishedSize(outcome) == 4) }
    disk.set([])
    if isStopped { expectNotRepeated(try await attempt(id).outcome) }
    #expect(server.heads.count == 1)
    await server.shutdown()
  }

  /// Up to a length they are in memory until they are whole.
  @Test(arguments: [0, 1, mebi, mebi + 1, 3 * mebi], [true, false])
  func answersOfAllLengthsAreKept(count: Int64, isAnnounced: Bool) async throws {
    let pattern = BytePattern()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      isAnnounced ? .ok(pattern.bytes(count: Int(count))) : .chunked(pattern, count: count, each: 70_000)
    }
    let id = try post(server.url("/file"))
    // The first is of no answer: it opens the part.
    disk.set([.init(.open, code: EIO, path: "partial/", after: 1, times: 1)])
    #expect(finishedSize(try await attempt(id).outcome) == count)
    #expect(disk.faultsLeft(of: .open, "partial/") == 0)
    #expect(pattern.difference(toFile: files.complete(id), count: count) == nil)
    #expect(server.heads.count == 1)
    await server.shutdown()
  }

  @Test(arguments: ["done", "gone"]) func anAnswerInMemoryIsComparedWithWhatIsExpected(body: String) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok(body) }
    var description = TransferDescription.download(server.url("/file").absoluteString, method: "POST")
    description.expectation = ContentExpectation(sha256: Data(SHA256.hash(data: Data("done".utf8))), byteCount: 4)
    let id = try add(description)
    let outcome = try await attempt(id).outcome
    #expect(finishedSize(outcome) == (body == "done" ? 4 : nil), "\(outcome)")
    await server.shutdown()
  }

  /// What is beyond the memory for it does not come again.
  @Test(arguments: [EIO, EROFS, ENOSPC, EAGAIN])
  func aLargeAnswerThatCanNotBeKeptEndsItsTransfer(code: Int32) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .ok([UInt8](repeating: 7, count: 3 << 20))
    }
    let id = try post(server.url("/file"))
    disk.set([.init(.write, code: code, path: "partial")])
    guard case .failed(let failure, let response, _) = try await attempt(id).outcome else {
      Issue.record("it is tried again")
      return
    }
    #expect(failure.code == URLError.Code.cannotWriteToFile.rawValue && response?.status == 200)
    #expect(failure.message.contains("its answer could not be kept"))
    disk.set([])
    expectNotRepeated(try await attempt(id).outcome)
    #expect(server.heads.count == 1)
    await server.shutdown()
  }

  @Test(arguments: [true, false]) func aRequestIsNotSentWithoutRoomForItsAnswer(isUpload: Bool) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    let url = server.url("/file")
    let id = isUpload ? try upload(Data("file".utf8), to: url, method: "POST") : try post(url)
    disk.setFreeSpace(1)
    guard case .noSpace(_, 1) = try await attempt(id).outcome else {
      Issue.record("it does not wait for space")
      return
    }
    #expect(server.heads.isEmpty)
    disk.setFreeSpace(nil)
    #expect(finishedSize(try await attempt(id).outcome) == 4)
    #expect(server.heads.count == 1)
    await server.shutdown()
  }
}
