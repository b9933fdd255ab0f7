import CommandLineOutput
import Foundation
import TransferProtocol

/// The work of `wait` and `download --wait`.
struct TransferWaiting: Sendable {
  enum Prints: Sendable {
    /// A line for each transfer as it ends.
    case lines
    /// One JSON object, of the only transfer.
    case object
    /// One JSON object with all of them.
    case list
  }

  let transfers: [Int64]
  let isQuiet: Bool
  let prints: Prints

  /// - Parameters:
  ///   - download: The transfer's session, when this process has it: it then hears of the end itself.
  ///   - greeting: Said on standard error as soon as an interruption leaves the transfers running.
  func run(keeping download: BackgroundDownload, greeting: String) async throws {
    try await run(keeping: [download], greetings: [greeting])
  }

  /// The same for several, or for none that this process has.
  func run(keeping downloads: [BackgroundDownload] = [], greetings: [String] = []) async throws {
    let progress = ProgressPrinter(isQuiet: isQuiet)
    let transfers = transfers
    let interruption = await Interruption {
      progress.finish()
      let numbers = transfers.map(String.init).joined(separator: " ")
      let verb = transfers.count == 1 ? "goes" : "go"
      StandardError.print(
        "urlsession: interrupted: transfer \(numbers) \(verb) on; follow with `urlsession wait \(numbers)`, "
          + "end with `urlsession cancel \(numbers)`")
    }
    defer { interruption.end() }
    if !isQuiet { for greeting in greetings { progress.say(greeting) } }
    let (isQuiet, printsLines) = (isQuiet, prints == .lines)
    let kept = Dictionary(downloads.map { ($0.transfer, $0) }) { $1 }
    let follower = TransferFollower(progress: progress, store: try downloads.first?.store ?? .usual()) { report in
      // Its connection is of use to other commands.
      kept[report.transfer]?.leave()
      if let ending = report.ending { return progress.say(ending.line) }
      guard printsLines, !isQuiet else { return }
      let place = report.path ?? report.destination ?? report.url
      progress.say(
        "Transfer \(report.transfer): \(report.stateWord) \(TextTable.printable(place)) (\(ByteFormat.bytes(report.received)))",
        with: StandardOutput.print)
    }
    // Else commands with many transfers would keep all places from others for as long as these last.
    let leaving = BackgroundDownload.patience(keeping: downloads.count).map { patience in
      Task {
        try await Task.sleep(for: patience)
        await withDiscardingTaskGroup { group in
          for download in downloads { group.addTask { await download.leaveOnceAnswered() } }
        }
      }
    }
    defer { leaving?.cancel() }
    let followed = try await follower.follow(transfers)
    withExtendedLifetime(downloads) {}
    progress.clear()
    switch prints {
    case .lines: break
    case .object: if let report = followed.all.first { try JSONOutput.print(report) }
    case .list: try JSONOutput.print(TransferReports(transfers: followed.all))
    }
    if let ending = followed.ending { throw ending.status }
  }
}

extension RecordStore {
  /// That of this user.
  static func usual() throws -> RecordStore { RecordStore(state: try DownloadNote.usualState()) }
}
