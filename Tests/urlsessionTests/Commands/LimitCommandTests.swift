import ArgumentParser
import Testing
import TransferProtocol

@testable import urlsession

struct LimitCommandTests {
  @Test(
    arguments: [
      ("none", nil), ("2048", 2_048), ("500K", 500_000), ("1.5M", 1_500_000), ("1MiB/s", 1_048_576), ("2kb", 2_000),
      ("1G", 1_000_000_000), ("4Ki", 4_096),
    ] as [(String, Int64?)]) func rate(_ text: String, _ rate: Int64?) throws
  {
    #expect(try RateArgument.parse(text) == rate)
  }

  @Test(arguments: ["", "fast", "1023", "-5M", "1e9", "5i", "K", "1.2.3M", "99999999999999999999"])
  func rateThatIsNone(_ text: String) { #expect(throws: ValidationError.self) { try RateArgument.parse(text) } }

  @Test(arguments: [
    ["limit"], ["limit", "7"], ["limit", "x", "1M"], ["limit", "7", "8", "1M"], ["limit", "--all"],
    ["limit", "--all", "7", "1M"], ["limit", "--all", "--program", "1M"], ["limit", "7", "1M", "--between", "8-18"],
    ["limit", "7", "fast"], ["limit", "--app", "/a"], ["limit", "7", "1M", "--app", "/a"],
    ["limit", "--app", "/a", "--all", "1M"], ["limit", "--app", "/a", "--program", "1M"],
    ["limit", "--session", "s", "--program", "1M"],
  ]) func refusesAsUsage(_ arguments: [String]) throws {
    let error = #expect(throws: (any Error).self) { try URLSessionCommand.parseAsRoot(arguments) }
    #expect(URLSessionCommand.exitCode(for: try #require(error)).rawValue == CommandStatus.usage.rawValue)
  }

  @Test(arguments: [
    (BandwidthLimit(bytesPerSecond: 1_500_000), "1.5 MB/s"), (BandwidthLimit(bytesPerSecond: nil), "no limit"),
    (BandwidthLimit(bytesPerSecond: 500_000, hours: DailyHours("08:00-18:00")), "500 KB/s between 08:00-18:00"),
  ]) func limitInWords(_ limit: BandwidthLimit, _ text: String) { #expect(LimitText.text(limit) == text) }

  @Test func reportsShowTheLimits() throws {
    var status = Sample.status()
    status.limits = [
      TransferLimit(scope: .transfer, limit: .init(bytesPerSecond: 500_000)),
      TransferLimit(scope: .service, limit: .init(bytesPerSecond: nil, hours: DailyHours("22:00-06:00"))),
    ]
    let report = TransferReport(status)
    let text = "transfer 500 KB/s, all no limit between 22:00-06:00"
    #expect(TransferTable.lines([report], now: Sample.now).last?.hasSuffix("limited: \(text)") == true)
    #expect(TransferSheet.lines(report, now: Sample.now).contains { $0.hasPrefix("Limits:") && $0.hasSuffix(text) })
    let json = try JSONOutput.text(report)
    for part in [#""scope" : "transfer""#, #""bytesPerSecond" : 500000"#, #""between" : "22:00-06:00""#] {
      #expect(json.replacing(" ", with: "").contains(part.replacing(" ", with: "")))
    }
  }
}
