import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct ServiceStartReportTests {
  static let logs: [(text: String, reason: String?)] = [
    ("", nil), ("2026-01-01T00:00:00Z notice: serving on /s\n", nil),
    (
      "2026-01-01T00:00:00Z error: disk I/O error\n2026-01-01T00:00:01Z notice: ending\n",
      "2026-01-01T00:00:00Z error: disk I/O error"
    ),
    // The line of the program itself says more than that of the supervisor behind it.
    (
      "Error: lock: Permission denied\n2026-01-01T00:00:00Z error: the service ended (exited(1))\n",
      "lock: Permission denied"
    ),
    ("Error: one\nError: two.\n", "two"),
  ]

  @Test(arguments: logs) func theLastFailureOfALogIsTheReason(text: String, reason: String?) {
    #expect(ServiceStartReport.reason(inLog: text) == reason)
  }

  @Test func onlyWhatTheLogSaysSinceTheStartCounts() throws {
    let path = NSTemporaryDirectory() + "log-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(ServiceStartReport(log: path).reasonInLog() == nil)
    try Data("Error: of yesterday\n".utf8).write(to: URL(fileURLWithPath: path))
    let report = ServiceStartReport(log: path)
    #expect(report.reasonInLog() == nil)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data("Error: of today\n".utf8))
    try file.close()
    #expect(report.reasonInLog() == "of today")
    // It was limited, and begun anew.
    try Data("Error: new\n".utf8).write(to: URL(fileURLWithPath: path))
    #expect(report.reasonInLog() == "new")
  }
}
