import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct ServiceStartFailureTests {
  private static let (first, second) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")

  static let logs: [(text: String, reason: String?, date: String?)] = [
    ("", nil, nil),
    ("\(first) notice: serving on /s, state in /state\n\(second) notice: ending\n", nil, nil),
    (
      "\(first) error: keys are gone\nError: lock: Permission denied.\n\(second) error: the service ended (exited(1))\n",
      "lock: Permission denied", second
    ),
    // The next one has served.
    ("Error: lock: Permission denied\n\(second) notice: serving on /s\n\(second) error: transfer 7 failed\n", nil, nil),
    // An error of a service that has served is none of a start.
    ("\(first) notice: serving on /s\n\(second) error: the service ended (killed(9)); starting it again\n", nil, nil),
    ("\(first) notice: serving on /s\n\(second) notice: ending\nError: no room\n", "no room", second),
    (
      "\(first) error: the service could not be started: fork: no memory\n",
      "the service could not be started: fork: no memory",
      first
    ),
    ("Error: one\nError: two\u{1B}[2J\n", "two[2J", nil),
  ]

  @Test(arguments: logs) func aLogSaysWhyTheLastServiceDidNotServe(text: String, reason: String?, date: String?) throws
  {
    let failure = ServiceStartFailure(inLog: text)
    #expect(failure?.reason == reason)
    #expect(failure?.date == (try date.map { try Date($0, strategy: .iso8601) }))
  }

  @Test func theEndOfALongLogIsRead() throws {
    let path = NSTemporaryDirectory() + "log-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(ServiceStartFailure(inLogAt: path) == nil)
    let lines = String(repeating: "\(Self.first) info: a line\n", count: 10_000)
    try Data((lines + "Error: no room\n").utf8).write(to: URL(fileURLWithPath: path))
    #expect(ServiceStartFailure(inLogAt: path)?.reason == "no room")
    try FileManager.default.removeItem(atPath: path)
    #expect(mkfifo(path, 0o600) == 0 && ServiceStartFailure(inLogAt: path) == nil)
  }
}
