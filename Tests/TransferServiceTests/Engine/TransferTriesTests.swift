import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The tries that the service remembers.
@Suite struct TransferTriesTests {
  private static let date = Date(timeIntervalSince1970: 1_800_000_000)

  private func moment(_ seconds: Double) -> Moment {
    Moment(now: BootInstant(nanoseconds: 0) + seconds, date: Self.date + seconds)
  }

  private func responded(_ status: Int) -> DownloadReport {
    .responded(ResponseSummary(url: "http://h/", status: status))
  }

  private func progressed(_ received: Int64) -> DownloadReport {
    .progressed(received: received, expectedTotal: -1, kept: KeptBytes(received, of: received))
  }

  @Test func aTryIsTimedAndCounted() throws {
    var tries = TransferTries()
    tries.began(7, offset: 100, at: moment(10))
    #expect(tries.latest(7, at: moment(11)).first?.duration == 1)
    tries.reported(responded(206), by: 7, at: moment(12))
    tries.reported(responded(206), by: 7, at: moment(13))
    tries.reported(progressed(150), by: 7, at: moment(14))
    tries.ended(.stopped(received: 160), of: 7, because: "it was told to", at: moment(15))
    // A report that was on its way belongs to no other try.
    tries.reported(progressed(900), by: 7, at: moment(16))
    let one = try #require(tries.latest(7, at: moment(20)).first)
    #expect(one.began == Self.date + 10 && one.duration == 5 && one.responseAfter == 2)
    #expect(one.offset == 100 && one.received == 60 && one.httpStatus == 206)
    #expect(one.end == "it was told to" && !one.failed)
    #expect(tries.latest(8, at: moment(20)).isEmpty)
  }

  /// A request with its times, in seconds after the beginning.
  private static func request(_ set: (inout TransactionDescription.Times, (Double) -> Date) -> Void)
    -> TransactionDescription
  {
    var request = TransactionDescription(url: "http://h/", method: "GET", headers: [], source: .networkLoad)
    set(&request.times) { date + $0 }
    return request
  }

  static let requests: [(String, TransactionDescription, [TransferTry.Phase])] = [
    (
      "over TLS",
      request { times, at in
        (times.domainLookupStart, times.domainLookupEnd) = (at(1), at(2))
        (times.connectStart, times.connectEnd) = (at(2), at(8))
        (times.secureConnectionStart, times.secureConnectionEnd) = (at(4), at(8))
        (times.requestStart, times.requestEnd) = (at(8), at(8))
        (times.responseStart, times.responseEnd) = (at(16), at(32))
      },
      [
        .init(.lookup, at: 1, duration: 1), .init(.connect, at: 2, duration: 2), .init(.tls, at: 4, duration: 4),
        .init(.request, at: 8, duration: 0), .init(.wait, at: 8, duration: 8), .init(.response, at: 16, duration: 16),
      ]
    ),
    (
      "in the clear, broken off",
      request { times, at in
        (times.connectStart, times.connectEnd) = (at(-1), at(2))
        (times.requestStart, times.requestEnd, times.responseStart) = (at(2), at(3), at(5))
      },
      [
        .init(.connect, at: 0, duration: 3), .init(.request, at: 2, duration: 1), .init(.wait, at: 3, duration: 2),
      ]
    ),
    ("the clock was set back", request { ($0.requestStart, $0.requestEnd) = ($1(2), $1(1)) }, []),
    ("nothing took place", request { _, _ in }, []),
  ]

  @Test(arguments: requests.indices) func theRequestsOfATryHavePhases(index: Int) {
    let (name, request, phases) = Self.requests[index]
    var tries = TransferTries()
    tries.began(7, offset: 0, at: moment(0))
    #expect(tries.latest(7, at: moment(1)).first?.phases == nil)
    tries.reported(.measured([request]), by: 7, at: moment(40))
    #expect(tries.latest(7, at: moment(40)).first?.phases == phases, "\(name)")
  }

  @Test func phasesOfTheLatestRequestsAreRemembered() {
    let requests = (0..<20).map { number in
      Self.request { ($0.requestStart, $0.requestEnd) = ($1(Double(number)), $1(Double(number))) }
    }
    let phases = TransferTry.phases(of: requests, since: Self.date)
    #expect(phases.map(\.at) == (12..<20).map(Double.init))
  }

  @Test func aTryThatBeginsAgainCountsFromTheFirstByte() {
    var tries = TransferTries()
    tries.began(7, offset: 100, at: moment(0))
    tries.reported(progressed(30), by: 7, at: moment(1))
    let failure = TransferFailure(domain: "d", code: 1, message: "m")
    tries.ended(.retry(failure, kept: KeptBytes(0, of: 0), received: 0), of: 7, because: "m", at: moment(2))
    let one = tries.latest(7, at: moment(3)).first
    #expect(one?.offset == 0 && one?.received == 30 && one?.failed == true)
  }

  @Test func aTryOfAnUploadCountsTheBytesThatItSends() {
    func sent(_ count: Int64, kept: Int64 = 0) -> DownloadReport {
      .sent(SentBytes(count, of: 1_000), kept: KeptBytes(kept, of: 1_000))
    }
    var tries = TransferTries()
    tries.began(7, offset: 0, at: moment(0))
    for report in [sent(300), sent(600, kept: 200)] { tries.reported(report, by: 7, at: moment(1)) }
    let failure = TransferFailure(domain: "d", code: 1, message: "m")
    tries.ended(.retry(failure, kept: KeptBytes(200, of: 1_000), received: 0), of: 7, because: "m", at: moment(2))
    // The next one goes on where the server is, and gets an answer.
    tries.began(7, offset: 0, at: moment(3))
    for report in [sent(0, kept: 200), sent(500, kept: 200), sent(1_000, kept: 200), responded(200), progressed(5)] {
      tries.reported(report, by: 7, at: moment(4))
    }
    tries.ended(
      .finished(ResponseSummary(url: "http://h/", status: 200), byteCount: 5), of: 7, because: "", at: moment(5))
    let latest = tries.latest(7, at: moment(6))
    #expect(latest.map(\.sent) == [600, 800] && latest.map(\.offset) == [0, 200] && latest.map(\.received) == [0, 5])
  }

  @Test func onlyTheLatestAreRemembered() {
    var tries = TransferTries()
    for number in 0..<(TransferTries.perTransfer + 5) {
      tries.began(1, offset: Int64(number), at: moment(Double(number)))
      tries.ended(.stopped(received: 0), of: 1, because: "", at: moment(Double(number)))
    }
    #expect(tries.latest(1, at: moment(99)).map(\.offset) == (5..<25).map(Int64.init))
    for id in 2...(TransferTries.transfers + 1) { tries.began(TransferID(id), offset: 0, at: moment(0)) }
    #expect(tries.latest(1, at: moment(99)).isEmpty)
    #expect(tries.latest(2, at: moment(99)).count == 1)
  }

  @Test func aTransferIsShownWithItsTries() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try #require(try await client.create([.download("http://h/", task: 1)]).first)
      await fixture.settle()
      runner.report(responded(503), by: id)
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "The connection was lost.")
      runner.end(id, .retry(failure, kept: KeptBytes(0, of: 0), received: 0))
      await fixture.settle()
      guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.tries?.map(\.httpStatus) == [503])
      #expect(shown.tries?.first?.end == "it will be tried again: The connection was lost.")
      #expect(shown.tries?.first?.failed == true)
    }
  }
}
