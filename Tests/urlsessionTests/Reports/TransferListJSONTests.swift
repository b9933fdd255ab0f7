import Foundation
import Testing

@testable import urlsession

@Suite struct TransferListJSONTests {
  private func reports(_ numbers: Range<Int64>) -> [TransferReport] {
    numbers.map { number in
      TransferReport(Sample.status(number) { $0.url = "http://h/\"[\n],\(number) \u{e9}\u{1F600}" })
    }
  }

  /// Whatever the parts are, the text is that of the whole.
  @Test(arguments: [[], [0..<1], [0..<3, 3..<3, 3..<4], [0..<2, 2..<5, 5..<6]] as [[Range<Int64>]])
  func partsMakeTheTextOfTheWhole(_ parts: [Range<Int64>]) async throws {
    var list = TransferListJSON()
    for part in parts { list.add(reports(part)) }
    let whole = try JSONOutput.text(TransferReports(transfers: parts.flatMap { reports($0) }))
    #expect(try await list.text() == whole)
  }
}
