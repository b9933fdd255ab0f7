import Foundation
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// Servers that can't go on with an upload for a while.
extension TransferEngineUploadsTests {
  /// The service asks for the offset and sends the rest by itself, so that its app is told of no answer to that.
  @Test(arguments: [408, 429, 500, 503])
  func aServerThatIsBusyWhenAnUploadGoesOnIsAskedAgainWhenItSays(status: Int) async throws {
    let later = [("Retry-After", "120")]
    let desk = UploadDesk([
      "POST": [Reply([UploadDesk.offer, .readRequestBody(upTo: 1000), .reset])],
      "HEAD": [.status(status, fields: later), UploadDesk.has(1000), UploadDesk.has(1000)],
      "PATCH": [UploadDesk.take(status, fields: later), UploadDesk.take(200, text: "whole")],
    ])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      let id = try #require(try await app.create([.upload(try Self.file(fixture), to: Self.url(server))]).first)
      for keepsBytes in [false, true] {
        let reason = WaitingReason.serverBusy(status: status, keepsBytes: keepsBytes)
        let waiting = try await app.next { push -> WaitingStatus? in
          guard case .transferChanged(let shown) = push, shown.waiting?.code == reason.code else { return nil }
          return shown.waiting?.sentence == reason.sentence ? shown.waiting : nil
        }
        let wait = try #require(waiting.nextAttempt).timeIntervalSince(fixture.clock.date)
        #expect(abs(wait - 120) < 1)
        #expect(try fixture.contentOfUpload(id)?.count == 600_000, "the copy is kept")
        let kept = try #require(try fixture.store.transfer(id)?.upload?.place)
        #expect(kept.resource.hasSuffix("/resume/1") && kept.acknowledged == (keepsBytes ? 1000 : 0))
        await fixture.advance(by: wait + 1)
      }
      let answer = try #require(try await app.nextEvent().download)
      #expect(try String(contentsOfFile: answer.path, encoding: .utf8) == "whole")
      #expect(server.heads.map(\.method) == ["POST", "HEAD", "HEAD", "PATCH", "HEAD", "PATCH"])
      #expect(server.requests.last?.body.bytes == Array(Self.bytes(600_000).dropFirst(1000)))
    }
  }

  /// A server that stays busy ends no upload: the fifth failure is as good as the first.
  @Test func aServerThatStaysBusyEndsNoUpload() async throws {
    let desk = UploadDesk([
      "POST": [Reply([UploadDesk.offer, .readRequestBody(upTo: 1000), .reset])],
      "HEAD": (1...8).map { _ in .status(503) } + [UploadDesk.has(1000)], "PATCH": [UploadDesk.take()],
    ])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      try await app.watch()
      _ = try await app.create([.upload(try Self.file(fixture), to: Self.url(server))])
      for failures in 1...8 {
        let code = WaitingReason.serverBusy(status: 503).code
        _ = try await app.next { push -> Bool? in
          guard case .transferChanged(let shown) = push, shown.waiting?.code == code else { return nil }
          return shown.failedAttempts == failures ? true : nil
        }
        await fixture.advance(by: 700)
      }
      #expect(try await app.nextEvent().download?.response?.status == 200)
      #expect(server.heads.count == 11)
    }
  }

  @Test func theLastTryOfAnUploadTakesItsAnswer() async throws {
    let desk = UploadDesk([
      "POST": [Reply([UploadDesk.offer, .readRequestBody(upTo: 1000), .reset])], "HEAD": [UploadDesk.has(1000)],
      "PATCH": [UploadDesk.take(503, text: "busy")],
    ])
    try await desk.run { fixture, server in
      let app = fixture.client()
      try await app.begin()
      var task = TransferDescription.upload(try Self.file(fixture), to: Self.url(server))
      var retry = RetryDescription()
      retry.maximumAttempts = 1
      task.retry = retry
      _ = try await app.create([task])
      let answer = try #require(try await app.nextEvent().download)
      #expect(answer.response?.status == 503)
      #expect(try String(contentsOfFile: answer.path, encoding: .utf8) == "busy")
    }
  }
}
