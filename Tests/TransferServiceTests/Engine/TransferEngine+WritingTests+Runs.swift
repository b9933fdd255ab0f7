import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Runs and starts of apps that wait for what is being written.
extension TransferEngineWritingTests {
  /// A run that began meanwhile could count bytes of the former resource.
  @Test func aTransferWhoseRequestIsBeingChangedDoesNotBegin() async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      runner.end(1, .retry(failure, kept: KeptBytes(0), received: 0))
      await fixture.settle()
      let person = fixture.client()
      try await person.greet()
      let number = try await fixture.holdingQueue {
        let number = app.tell(Self.url(1, "http://other/f"))
        #expect(try await person.ask(.retryTransfer(TransferReference(transfer: 1))) == .done)
        try await expectService(other)
        #expect(runner.running == [])
        return number
      }
      #expect(try await app.awaitReply(to: number) == .done)
      try await eventually("the run") { runner.running == [1] }
      #expect(runner.job(1)?.request.url == "http://other/f")
    }
  }

  /// An app says how often a task may fail. A run that knew of fewer failures would try once more, and one that knew of those
  /// before the last progress would give up too early.
  @Test func aRunKnowsTheFailuresThatAreNotOnTheDiskYet() async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      func fail(_ kept: Int64) async throws {
        runner.end(1, .retry(failure, kept: KeptBytes(kept), received: 0))
        #expect(try await app.ask(.retryTransfer(TransferReference(transfer: 1))) == .done)
        try await expectService(other)
      }
      try await fixture.holdingQueue {
        try await fail(0)
        #expect(runner.running == [1] && runner.job(1)?.failures == 1)
        try await fail(0)
        #expect(runner.running == [1] && runner.job(1)?.failures == 2)
        // Progress.
        try await fail(1 << 20)
        #expect(runner.running == [1] && runner.job(1)?.failures == 1)
      }
    }
  }

  /// The start is in the queue first, so that a service that dies over it does not repeat it without end.
  @Test func anAppIsStartedOnceItsStartIsOnTheDisk() async throws {
    try await withScene { fixture, runner, app, other in
      try runner.finish(1, in: fixture)
      await fixture.settle()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 3)))
      await fixture.settle()
      try await fixture.holdingQueue {
        app.disconnect()
        try await expectService(other)
        #expect(fixture.launcher.launches.count == 0)
      }
      _ = try await fixture.launcher.launches.next()
      #expect(try fixture.store.session(1)?.launches == 1)
    }
  }

  @Test func anAppThatAttachesMeanwhileIsNotStarted() async throws {
    try await withScene { fixture, runner, app, other in
      try runner.finish(1, in: fixture)
      await fixture.settle()
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 3)))
      await fixture.settle()
      let next = fixture.client()
      try await next.greet()
      let number = try await fixture.holdingQueue {
        // The process of the first one is gone, which its connection shows a moment later.
        let number = next.tell(.attach(Attach(session: "s")))
        app.disconnect()
        try await expectService(other)
        return number
      }
      guard case .attached = try await next.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      await fixture.settle()
      #expect(fixture.launcher.launches.count == 0)
      #expect(try fixture.store.session(1)?.launches == 0)
    }
  }
}
