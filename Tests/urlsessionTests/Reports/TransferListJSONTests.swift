import Foundation
import Testing
import TransferProtocol

@testable import urlsession

@Suite struct TransferListJSONTests {
  private func reports(_ numbers: Range<Int64>) -> [TransferReport] {
    numbers.map { number in
      TransferReport(Sample.status(number) { $0.url = "http://h/\"[\n],\(number) \u{e9}\u{1F600}" })
    }
  }

  private func text(_ list: TransferListJSON) async throws -> String {
    String(decoding: try await list.pieces().joined(), as: UTF8.self)
  }

  /// A field that only one of the two ways of writing knows makes a difference here.
  @Test func everyFieldIsWrittenAsByTheEncoder() async throws {
    var full = TransferReport(Sample.status(7) { $0.url = "http://h/7" })
    full.outcome = .failed
    (full.destination, full.path, full.app) = ("/a/b", "/a/b 2", "/usr/bin/app")
    (full.received, full.total, full.rate, full.httpStatus) = (.max, 1, 1_234.5, 503)
    full.waiting = WaitingStatus(code: "retry", sentence: "It \\ waits.", nextAttempt: Date(timeIntervalSince1970: 1.9))
    full.failure = TransferFailure(domain: "NSURLErrorDomain", code: -1_009, message: "\u{7}\t no \"net\"")
    full.finished = Date(timeIntervalSince1970: 1_764_140_237.75)
    full.limits = [
      TransferLimit(scope: .transfer, limit: BandwidthLimit(bytesPerSecond: 5)),
      TransferLimit(scope: .app, limit: BandwidthLimit(bytesPerSecond: nil)),
    ]
    full.absence = AppAbsence(days: 65, removal: Date(timeIntervalSince1970: 1_766_000_000.5))
    var upload = full
    (upload.isUpload, upload.waiting, upload.failure, upload.limits) = (true, nil, nil, [])
    upload.absence = nil
    var list = TransferListJSON()
    list.add([full, upload])
    #expect(try await text(list) == JSONOutput.text(TransferReports(transfers: [full, upload])))
  }

  /// Whatever the parts are, the text is that of the whole.
  @Test(arguments: [[], [0..<1], [0..<3, 3..<3, 3..<4], [0..<2, 2..<5, 5..<6]] as [[Range<Int64>]])
  func partsMakeTheTextOfTheWhole(_ parts: [Range<Int64>]) async throws {
    var list = TransferListJSON()
    for part in parts { list.add(reports(part)) }
    let whole = try JSONOutput.text(TransferReports(transfers: parts.flatMap { reports($0) }))
    #expect(try await text(list) == whole)
  }
}
