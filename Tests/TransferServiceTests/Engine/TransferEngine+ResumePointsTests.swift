import Foundation
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// Files with which apps begin cancelled downloads again, while the disk takes its time.
@Suite struct TransferEngineResumePointsTests {
  /// An app with downloads that are suspended, of which four bytes are there.
  private func withDownloads(
    _ count: Int, _ body: (EngineFixture, FakeClient) async throws -> Void
  ) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create(
        (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) })
      for id in ids {
        let response = ResponseSummary(url: "http://h/\(id)", status: 200)
        try fixture.store.commit(
          offset: 4, representation: .init(response: response, validator: .init(entityTag: "\"x\""), expectedTotal: 9),
          of: id)
        try Data("part".utf8).write(to: URL(fileURLWithPath: fixture.files.partial(id)))
      }
      try await body(fixture, app)
    }
  }

  private func cancellation(of task: Int, makesPoint: Bool = true) -> ClientRequest {
    .cancelTask(CancelTask(session: "s", taskIdentifier: task, producingResumePoint: makesPoint))
  }

  private func resumePoint(_ reply: ServiceReply) -> ResumePoint? {
    if case .cancelled(let cancelled) = reply { cancelled.resumePoint } else { nil }
  }

  @Test func theFilesOfManyWaitForTheDiskOnce() async throws {
    try await withDownloads(20) { fixture, app in
      fixture.engine.queue.suspend()
      let numbers = (1...20).map { app.tell(cancellation(of: $0)) }
      fixture.engine.queue.resume()
      for number in numbers {
        let path = resumePoint(try await app.awaitReply(to: number))?.path
        #expect(FileManager.default.fileExists(atPath: path ?? ""))
      }
      let waits = fixture.disk.log.count { $0.hasPrefix("syncDirectory ") && $0.hasSuffix("/delivery") }
      #expect(waits == 1)
    }
  }

  @Test func anEndWithoutAResumePointDoesNotWaitForThatOfAnother() async throws {
    try await withDownloads(2) { fixture, app in
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file to wait for the disk") { isHeld() }
        guard case .cancelled = try await app.ask(cancellation(of: 2, makesPoint: false)) else {
          Issue.record("not cancelled")
          return number
        }
        #expect(app.reply(to: number) == nil)
        #expect(try fixture.store.unfinishedHeads().map(\.taskIdentifier) == [1])
        return number
      }
      #expect(resumePoint(try await app.awaitReply(to: number))?.offset == 4)
      let ended = [try await app.nextEvent().taskIdentifier, try await app.nextEvent().taskIdentifier]
      #expect(ended == [2, 1])
    }
  }

  /// No app is told of it any more.
  @Test func theFileOfATransferThatGoesWithItsSessionIsRemoved() async throws {
    try await withDownloads(1) { fixture, app in
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file to wait for the disk") { isHeld() }
        #expect(fixture.names("delivery").count == 1)
        #expect(try await app.ask(.invalidate(SessionReference(session: "s"))) == .done)
        return number
      }
      await fixture.settle()
      #expect(fixture.names("delivery") == [])
      #expect(resumePoint(try await app.awaitReply(to: number)) == nil)
    }
  }

  /// A service that is killed here has not cancelled the transfer.
  @Test func theTransferHasItsBytesUntilItsEndIsOnTheDisk() async throws {
    try await withDownloads(1) { fixture, app in
      let number = try await fixture.holdingQueue {
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file of the app") { fixture.names("delivery").count == 1 }
        #expect(fixture.names("partial") == ["1"] && app.reply(to: number) == nil)
        return number
      }
      let path = try #require(resumePoint(try await app.awaitReply(to: number))?.path)
      #expect(fixture.names("partial") == [] && FileManager.default.contents(atPath: path) == Data("part".utf8))
      // The app may begin with it: it is under this name only.
      let file = ResumeFile(path: path, files: fixture.files, transfer: 2)
      #expect(try file.isAcceptable { $0 == 1 })
    }
  }

  @Test func theFileIsMovedWhereThereAreNoHardLinks() async throws {
    try await withDownloads(1) { fixture, app in
      fixture.disk.set([.init(.link, code: EPERM, path: "partial")])
      let path = try #require(resumePoint(try await app.ask(cancellation(of: 1)))?.path)
      #expect(FileManager.default.contents(atPath: path) == Data("part".utf8))
    }
  }

  @Test func aFileThatMayBeLostWithThePowerIsNotTold() async throws {
    try await withDownloads(2) { fixture, app in
      fixture.disk.set([.init(.syncDirectory, code: EIO, path: "delivery", times: 1)])
      let reply = try await app.ask(cancellation(of: 1))
      #expect(resumePoint(reply) == nil && fixture.names("delivery") == [])
      #expect(resumePoint(try await app.ask(cancellation(of: 2))) != nil)
    }
  }
}
