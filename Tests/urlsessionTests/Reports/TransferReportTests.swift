import Foundation
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import urlsession

/// Transfers as the service would describe them.
enum Sample {
  static let now = Date(timeIntervalSince1970: 1_800_000_000)

  static func status(
    _ transfer: Int64 = 17, _ state: TransferState = .running, received: Int64 = 0, total: Int64 = -1,
    _ change: (inout TransferStatus) -> Void = { _ in }
  ) -> TransferStatus {
    var status = TransferStatus(
      transfer: transfer, session: "urlsession.\(transfer)", taskIdentifier: 1, kind: .download,
      url: "http://example.com/file", state: state, created: now.addingTimeInterval(-60))
    status.countOfBytesReceived = received
    status.countOfBytesExpectedToReceive = total
    change(&status)
    return status
  }

  static func record(
    _ outcome: DownloadRecord.Outcome, _ change: (inout DownloadRecord) -> Void = { _ in }
  ) -> DownloadRecord {
    var record = DownloadRecord(
      session: "urlsession.17", url: "http://example.com/file",
      destination: Destination(path: "/d", isFolder: true), created: now)
    record.transfer = 17
    record.outcome = outcome
    record.finished = outcome.isFinal ? now : nil
    change(&record)
    return record
  }

  static func over(_ change: (inout TransferStatus) -> Void = { _ in }) -> TransferStatus {
    status(17, .completed, received: 10, total: 10) { status in
      status.isAcknowledged = true
      change(&status)
    }
  }
}

struct TransferReportTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var status = Sample.over()
    var record: DownloadRecord?
    let word: String
    let ending: CommandStatus?
  }

  @Test(
    arguments: [(TransferState.running, 1_200, 1_200), (.running, nil, nil), (.waiting, 7, nil)]
      as [(TransferState, Int64?, Double?)])
  func theRateIsThatOfTheService(_ state: TransferState, _ told: Int64?, _ shown: Double?) {
    #expect(TransferReport(Sample.status(1, state) { $0.bytesPerSecond = told }).rate == shown)
  }

  static let cases: [Case] = [
    Case(testDescription: "runs", status: Sample.status(), word: "running", ending: nil),
    Case(
      testDescription: "complete, the file has not been taken", status: Sample.over { $0.isAcknowledged = false },
      word: "finishing", ending: nil),
    Case(testDescription: "over without a record", word: "saved", ending: nil),
    Case(testDescription: "saved", record: Sample.record(.saved), word: "saved", ending: nil),
    Case(
      testDescription: "sent", status: Sample.over { $0.kind = .upload },
      record: Sample.record(.saved) { $0.isUpload = true }, word: "sent", ending: nil),
    Case(
      testDescription: "begun to place, then crashed", status: Sample.over { $0.isAcknowledged = false },
      record: Sample.record(.placing), word: "finishing", ending: nil),
    Case(
      testDescription: "rescued", record: Sample.record(.savedElsewhere), word: "saved elsewhere", ending: .cannotWrite),
    Case(
      testDescription: "404", status: Sample.over { $0.httpStatus = 404 }, record: Sample.record(.httpError),
      word: "HTTP 404", ending: .httpError),
    Case(
      testDescription: "404 without a record", status: Sample.over { $0.httpStatus = 404 }, word: "HTTP 404",
      ending: .httpError),
    Case(
      testDescription: "cancelled without a record",
      status: Sample.over {
        $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorCancelled, message: "cancelled")
      }, word: "cancelled", ending: .cancelled),
    Case(
      testDescription: "timed out",
      status: Sample.over {
        $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorTimedOut, message: "too slow")
      }, record: Sample.record(.failed), word: "failed", ending: .timedOut),
  ]

  @Test(arguments: cases) func reportFollowsStatusAndRecord(_ row: Case) {
    let report = TransferReport(row.status, record: row.record)
    #expect(report.stateWord == row.word)
    #expect(report.ending?.status == row.ending)
    if row.ending != nil { #expect(report.ending?.what.contains("transfer 17") == true) }
  }

  @Test func timeLimitsAreToldWithoutNamesOfProperties() {
    let report = TransferReport(
      Sample.over {
        $0.failure = TransferFailure(
          domain: NSURLErrorDomain, code: NSURLErrorTimedOut,
          message: "\(ErrorMapping.wholeLimitPassed). Set a longer timeoutIntervalForResource.")
      })
    #expect(report.failure?.message == ErrorMapping.wholeLimitPassed + ".")
    #expect(report.ending?.advice.contains("urlsession download") == true)
  }

  /// `download` and `upload` have fewer options than `get`.
  @Test(arguments: [TransferKind.download, .upload]) func aTransferIsAdvisedByWhatItsCommandHas(_ kind: TransferKind) {
    let command = kind == .upload ? "upload" : "download"
    func ending(_ code: Int, in domain: String = NSURLErrorDomain) -> CommandFailure? {
      let status = Sample.over {
        $0.kind = kind
        $0.failure = TransferFailure(domain: domain, code: code, message: "broken")
      }
      return TransferReport(status).ending
    }
    let unauthorized = TransferReport(
      Sample.over {
        $0.kind = kind
        $0.httpStatus = 401
      }
    ).ending
    let endings = [
      unauthorized, ending(NSURLErrorUserAuthenticationRequired), ending(NSURLErrorNetworkConnectionLost),
      ending(NSURLErrorClientCertificateRequired), ending(NSURLErrorUnknown), ending(5, in: NSPOSIXErrorDomain),
    ]
    for ending in endings {
      let advice = ending?.advice ?? ""
      #expect(
        !["--netrc", "--negotiate", "--cert", "get -v", "--timeout"].contains { advice.contains($0) }, "\(advice)")
      #expect(!advice.isEmpty)
    }
    #expect(unauthorized?.advice.contains("urlsession \(command) --user") == true)
    let given = ending(NSURLErrorBadServerResponse)?.advice
    #expect(given?.contains("urlsession log 17") == true && given?.contains("urlsession \(command)") == true)
    #expect(ending(NSURLErrorCannotFindHost)?.advice.contains("name") == true)
  }

  @Test func fromTheRecordAlone() throws {
    let report = try #require(
      TransferReport(
        Sample.record(.saved) {
          $0.bytes = 5
          $0.path = "/d/f"
        }))
    #expect(report.outcome == .saved)
    #expect(report.path == "/d/f")
    #expect(report.received == 5)
    #expect(TransferReport(Sample.record(.saved) { $0.transfer = nil }) == nil)
  }

  /// Its file goes to that app, so it is over when the service has all of it; records of this program say nothing of it.
  @Test func transfersOfOtherAppsAreOverWhenTheServiceIsDone() throws {
    let status = Sample.over {
      $0.isAcknowledged = false
      $0.app = "/usr/bin/store"
      $0.httpStatus = 200
    }
    let report = TransferReport(status, record: Sample.record(.failed))
    #expect(report.outcome == .saved && report.stateWord == "complete" && report.ending == nil)
    #expect(report.destination == nil)
    #expect(TransferReport(Sample.status { $0.app = "/usr/bin/store" }).outcome == nil)
  }

  @Test(
    arguments: [
      (nil, "http://h/a%20b.iso?token=x", nil, "a b.iso"), (nil, "http://h/", nil, "h"), (nil, "http://h", nil, "h"),
      (Destination(path: "/d.1", isFolder: true), "http://h/%3Cimg%3E", nil, "<img>"),
      (Destination(path: "/d/x", isFolder: false), "http://h/y", nil, "x"),
      (Destination(path: "/d", isFolder: true), "http://h/y", "/d/z", "z"),
    ] as [(Destination?, String, String?, String)])
  func aTransferHasTheNameOfItsFile(_ destination: Destination?, _ url: String, _ path: String?, _ name: String) {
    var report = TransferReport(Sample.status { $0.url = url })
    (report.destination, report.destinationIsFolder) = (destination?.path, destination?.isFolder == true)
    report.path = path
    #expect(report.name == name)
  }

  @Test func jsonHasEveryKey() throws {
    let text = try JSONOutput.text(TransferReport(Sample.status()))
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(
      Set(object.keys) == [
        "transfer", "session", "url", "name", "state", "outcome", "destination", "path", "received", "total", "rate",
        "httpStatus", "waiting", "failedAttempts", "error", "created", "finished", "app", "kind", "limits", "absence",
      ])
    #expect(object["total"] is NSNull)
    #expect(object["state"] as? String == "running")
    #expect(object["created"] as? String == "2027-01-15T07:59:00Z")
  }

  @Test func jsonOfReasons() throws {
    let report = TransferReport(
      Sample.status(17, .waiting) {
        $0.waiting = WaitingStatus(code: "retry", sentence: "Lost.", nextAttempt: Sample.now)
        $0.failure = TransferFailure(domain: "d", code: 3, message: "m")
      })
    let text = try JSONOutput.text(report)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let waiting = try #require(object["waiting"] as? [String: Any])
    #expect(waiting["code"] as? String == "retry")
    #expect(waiting["nextAttempt"] as? String == "2027-01-15T08:00:00Z")
    #expect((object["error"] as? [String: Any])?["message"] as? String == "m")
  }
}

struct TransferTableTests {
  @Test func rows() {
    var running = TransferReport(Sample.status(9, received: 90_000_000, total: 200_000_000))
    running.rate = 12_300_000
    running.destination = "/home/a/file"
    var waiting = TransferReport(
      Sample.status(12, .waiting, received: 1500) {
        $0.waiting = WaitingStatus(
          code: "retry", sentence: "The server does not answer.", nextAttempt: Sample.now.addingTimeInterval(12))
      })
    waiting.destination = "/b"
    waiting.app = "/usr/bin/store"
    #expect(
      TransferTable.lines([running, waiting], now: Sample.now) == [
        "ID  STATE      DONE    SIZE       RATE  APP    FILE          WHY",
        " 9  running     45%  200 MB  12.3 MB/s  -      /home/a/file",
        "12  waiting  1.5 KB       -          -  store  /b            The server does not answer (again in 0:12)",
      ])
  }
}

struct UntakenEndTests {
  /// The file of one that has succeeded is still to be put in place.
  @Test func anEndThatItsAppHasNotTakenIsCalledByItsName() {
    func word(_ change: (inout TransferStatus) -> Void) -> String {
      TransferReport(Sample.status(1, .completed, change)).stateWord
    }
    #expect(word { $0.failure = TransferFailure(domain: "d", code: 1, message: "Broken") } == "failed")
    #expect(
      word { $0.failure = TransferFailure(domain: NSURLErrorDomain, code: NSURLErrorCancelled, message: "It was.") }
        == "cancelled")
    #expect(word { $0.httpStatus = 404 } == "HTTP 404" && word { $0.httpStatus = 200 } == "finishing")
  }
}

struct UnknownBytesTests {
  /// Only a service that runs knows what has arrived of it.
  @Test func bytesThatAreNotKnownAreNotCalledNone() throws {
    let report = try #require(TransferReport(Sample.record(.queued))).withoutService()
    let row = try #require(TransferTable.lines([report], now: Sample.now).last)
    #expect(row.split(separator: " ").prefix(4) == ["17", "waiting", "-", "-"], "\(row)")
    #expect(!TransferSheet.lines(report, now: Sample.now).contains { $0.hasPrefix("Received") })
    let data = Data(try JSONOutput.text(report).utf8)
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(object["received"] is NSNull)
    let known = try #require(TransferReport(Sample.record(.failed) { $0.bytes = 0 }))
    #expect(TransferTable.lines([known], now: Sample.now).last?.contains("0 B") == true)
  }
}

struct TransferSheetTests {
  @Test func waitingReasonIsShown() {
    let report = TransferReport(
      Sample.status(17, .waiting, received: 50, total: 200) {
        $0.waiting = WaitingStatus(
          code: "retry", sentence: "The server does not answer.", nextAttempt: Sample.now.addingTimeInterval(12))
        $0.failedAttempts = 3
      })
    let lines = TransferSheet.lines(report, now: Sample.now)
    #expect(lines.contains("Waits because:   The server does not answer."))
    #expect(lines.contains("Tried next:      2027-01-15T08:00:12Z (in 0:12)"))
    #expect(lines.contains("Received:        50 B of 200 B (25%)"))
    #expect(lines.contains("Failed attempts: 3"))
    #expect(lines.contains("Asked for:       2027-01-15T07:59:00Z (1:00 ago)"))
  }

  private func tries(_ count: Int) -> [TransferTry] {
    (0..<count).map { number in
      var one = TransferTry(began: Sample.now, offset: 0)
      (one.duration, one.received, one.httpStatus) = (4.1, 2 << 20, 206)
      one.phases = [
        .init(.lookup, at: 0, duration: 0.002), .init(.tls, at: 0.002, duration: 0.0124),
        .init(.response, at: 0.1, duration: 4), .init(.wait, at: -1, duration: -5),
      ]
      return one
    }
  }

  @Test func theLatestTriesAreShownWithTheirPhases() throws {
    let report = TransferReport(Sample.status())
    let lines = TransferSheet.lines(report, tries: tries(7), now: Sample.now).filter { $0.hasPrefix("Try ") }
    #expect(lines.count == 5 && lines.first?.hasPrefix("Try 3:") == true)
    let text =
      "2027-01-15T08:00:00Z, status 206, 2.1 MB in 4.1 s: lookup 2 ms, TLS 12 ms, response 4.0 s, wait 0 ms"
    #expect(lines.last?.hasPrefix("Try 7:") == true && lines.last?.hasSuffix(text) == true, "\(lines)")
    var running = TransferTry(began: Sample.now, offset: 0)
    running.sent = 50
    let line = try #require(TransferSheet.lines(report, tries: [running], now: Sample.now).last)
    #expect(line.hasSuffix("2027-01-15T08:00:00Z, no response, 50 B sent in 0 ms"))
  }

  /// The tries of an earlier service are not known.
  @Test func aTransferThatHasRunBeforeTheServiceSaysSo() throws {
    func hasRow(_ report: TransferReport, _ tries: [TransferTry] = []) -> Bool {
      TransferSheet.lines(report, tries: tries, now: Sample.now).contains {
        $0.hasPrefix("Tries: ") && $0.hasSuffix("none since the transfer service was started")
      }
    }
    let begun = TransferReport(Sample.status(17, .waiting, received: 50))
    #expect(hasRow(begun) && hasRow(TransferReport(Sample.status(17, .waiting) { $0.failedAttempts = 1 })))
    #expect(!hasRow(begun, Array(tries(1))))
    #expect(!hasRow(TransferReport(Sample.status(17, .waiting))))
    #expect(!hasRow(TransferReport(Sample.over())))
    var record = try #require(TransferReport(Sample.record(.queued)))
    record.received = 5
    #expect(!hasRow(record.withoutService()))
  }

  @Test func theTriesAreKeysOfTheTransfer() throws {
    let shown = ShownTransfer(TransferReport(Sample.status()), Array(tries(1)))
    let text = try JSONOutput.text(shown)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(object["transfer"] as? Int == 17 && object["limits"] != nil)
    let phases = try #require(((object["tries"] as? [[String: Any]])?.first)?["phases"] as? [[String: Any]])
    #expect(phases.map { $0["name"] as? String } == ["lookup", "tls", "response", "wait"])
    #expect(phases.first?["duration"] as? Double == 0.002)
  }
}

struct WaitingTextTests {
  @Test(arguments: [(nil, "Busy"), (-5, "Busy (again now)"), (0.5, "Busy (again now)"), (75, "Busy (again in 1:15)")])
  func text(_ seconds: Double?, _ text: String) {
    let waiting = WaitingStatus(
      code: "x", sentence: "Busy.", nextAttempt: seconds.map { Sample.now.addingTimeInterval($0) })
    #expect(WaitingText.text(waiting, now: Sample.now) == text)
  }

  @Test func aTransferThatHasNotBegunIsNotTriedAgain() {
    let waiting = WaitingStatus(
      code: "earliestBegin", sentence: "The app asked not to begin before a date.",
      nextAttempt: Sample.now.addingTimeInterval(75))
    #expect(WaitingText.text(waiting, now: Sample.now) == "The app asked not to begin before a date (in 1:15)")
    let lines = TransferSheet.lines(
      TransferReport(Sample.status(17, .waiting) { $0.waiting = waiting }), now: Sample.now)
    #expect(lines.contains { $0.hasPrefix("Begins:") && $0.hasSuffix("(in 1:15)") })
  }
}
