import Foundation
import Logging
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// The log tells the course of a transfer, by the name that `urlsession log` looks for.
@Suite struct LogTextsTests {
  @Test func theCourseOfATransferIsInTheLog() async throws {
    let logged = Recorder<String>()
    let log = Logger(label: "tests") { _ in RecordingLog(logged: logged) }
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, log: log) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try await app.create([.download("http://h/")])[0]
      let reference = TransferReference(transfer: id)
      let person = fixture.client()
      try await person.greet()
      try await eventually("it to run") { runner.running == [id] }
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      runner.end(id, .retry(failure, kept: KeptBytes(0), received: 0))
      await fixture.settle()
      try await person.ask(.holdTransfer(reference))
      var edit = EditTransfer(transfer: id)
      edit.fields = [HeaderField("Authorization", "secret-1")]
      edit.url = "http://h/?secret-2"
      try await person.ask(.editTransfer(edit))
      for limit in [
        BandwidthLimit(bytesPerSecond: 5_000), BandwidthLimit(bytesPerSecond: nil, hours: DailyHours("08:00-18:00")),
      ] {
        try await person.ask(.limit(LimitTransfers(subject: .transfer(id), limit: limit)))
      }
      try await person.ask(.releaseTransfer(reference))
      try await eventually("it to run again") { runner.running == [id] }
      await fixture.shutDown()
      try fixture.folder.leaveFile("running/\(id).\(fixture.clock.bootID)")
      let next = try await fixture.nextLife()
      // The pause that its failure asked for has passed.
      await next.advance(by: 3_600)
      try await eventually("it to run in the next life") { runner.running == [id] }
      try runner.finish(id, in: next)
      await next.settle()
      let lines = logged.all.filter { $0.contains("transfer \(id)") }
      for part in [
        "transfer 1 runs from 0", "transfer 1 stopped running: it will be tried again: Lost.",
        "transfer 1 has failed once; it is tried again at ", "transfer 1 is paused by the user",
        "transfer 1 is changed: the URL, the field Authorization",
        "changed the limits of transfer 1: 5000 bytes/s, none between 08:00-18:00", "transfer 1 is resumed by the user",
        "the service ended unexpectedly while it ran transfer 1", "transfer 1 is over: ",
      ] { #expect(lines.contains { $0.contains(part) }, "\(part) is not in \(lines)") }
      #expect(!logged.all.contains { $0.contains("secret") })
    }
  }

  @Test func limitsAreNamedAsTheTransfersTheyAreOf() {
    #expect(LimitSubject.task(9).logText == "transfer 9" && LimitSubject.service.logText == "all transfers")
    #expect(LimitTable().logText == "none")
    #expect([TransferID(3), 12].logText == "transfer 3, transfer 12")
  }

  @Test func anEditIsToldByItsParts() {
    var edit = EditTransfer(transfer: 1)
    edit.removedFields = ["X-Old"]
    edit.priority = 1
    edit.allowsCellularAccess = false
    #expect(edit.changedParts == ["the field X-Old", "the priority", "the use of cellular networks"])
  }
}
