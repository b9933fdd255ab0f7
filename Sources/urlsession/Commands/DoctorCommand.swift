import ArgumentParser
import CommandLineOutput
import TransferProtocol

/// `urlsession doctor`
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Check what the transfer service needs, and say how to mend what is wrong.",
    discussion:
      "Changes nothing, and does not start the service. Ends with 69 when a check fails; warnings do not count.")

  @Flag(help: "Print one JSON object with all checks.") var json = false

  private struct Report: Encodable {
    var checks: [Finding]
  }

  func run() async throws {
    let findings = ServiceChecks.findings(await ServiceFacts.probe())
    if json {
      try JSONOutput.print(Report(checks: findings))
    } else {
      for line in findings.flatMap(DoctorCommand.lines) { StandardOutput.print(line) }
    }
    if ServiceChecks.fails(findings) { throw CommandStatus.serviceUnavailable }
  }

  /// `warn  units: …`, and below it the way to mend it.
  static func lines(_ finding: Finding) -> [String] {
    let verdict = finding.verdict.rawValue
    let first = verdict + String(repeating: " ", count: 6 - verdict.count) + "\(finding.check): \(finding.text)"
    return ([first] + (finding.advice.map { ["      → \($0)"] } ?? [])).map(TextTable.printable)
  }
}
