import Foundation
import Testing

@testable import HTTPTransport

@Suite struct ResponseLimitsTests {
  /// The table of errors gives the limits that the code has.
  @Test func theDocumentGivesTheLimits() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("Docs/Errors.md"), encoding: .utf8)
    let limits = ResponseLimits.standard
    let expected = [
      "A head of more than \(limits.headBytes >> 10) KiB", "trailers of more than \(limits.trailerBytes >> 10) KiB",
      "a line before a chunk of more than \(limits.chunkHeaderBytes >> 10) KiB", "more than 5,000 fields",
      "more than \(limits.interimResponses) interim responses",
    ]
    for phrase in expected { #expect(text.contains(phrase), "\(phrase)") }
    #expect(limits.fields == 5_000)
  }
}
