import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession download`: hands a download to the transfer service.
struct DownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "download",
    abstract: "Load URLs to files in the background.",
    usage: "urlsession download <url> ... [options]",
    discussion: """
      Prints the transfer's number and returns as soon as the transfer service has it; the download then goes on \
      whatever happens to this program or the terminal. The file appears when it is complete and the status is below \
      400. Without -o it gets the server's name for it, in the current folder, with a number when that name is taken. \
      Several URLs are a transfer each; -o is then a folder.

      The password of --user is kept in the keychain until the download is over. Where there is no keychain, the \
      program stays until the server has asked for it, and the transfer service has it in memory only.
      """)

  @Argument(help: URLArgument.help) var urls: [URLArgument]

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp("Where the file goes: a file, or a folder.", valueName: "file"), completion: .file())
  var output: String?

  @Flag(help: "Stay until it is over, showing progress. Control-C leaves the transfer running.")
  var wait = false

  @OptionGroup var requestOptions: RequestOptions

  @OptionGroup var loginOptions: LoginOptions

  @OptionGroup var expectationOptions: ExpectationOptions

  @OptionGroup var retryOptions: RetryOptions

  @OptionGroup var conditionOptions: ConditionOptions

  @Option(help: "How it ranks among this program's transfers.") var priority = TransferPriority.default

  @OptionGroup var notificationOptions: NotificationOptions

  @Flag(help: "Print the transfer in JSON.") var json = false

  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws {
    guard urls.allSatisfy(\.isHTTP) else {
      throw ValidationError("downloads in the background are of http and https URLs")
    }
    if output == "-" { throw ValidationError("a download in the background can't go to standard output: use `get`") }
    guard urls.count > 1 else { return }
    if expectationOptions.expected != nil {
      throw ValidationError("--sha256 and --size are about one file: give one URL")
    }
    if loginOptions.user != nil, Set(urls.map(\.server)).count > 1 {
      throw ValidationError("--user is about one server: give URLs of one server")
    }
  }

  /// A download that the transfer service has.
  private struct Queued {
    let download: BackgroundDownload
    let line: String
    let report: QueuedReport
  }

  func run() async throws {
    let destination = try Destination(argument: output)
    if let output, Destination.isSpecialFile(output) {
      throw CommandFailure.cannotWrite(output, "it is not a file")
    }
    guard urls.count == 1 || destination.isFolder else {
      throw CommandFailure(
        .usage, "-o names one file for \(urls.count) URLs", advice: "name a folder that is there, or leave -o out")
    }
    let login = try urls.first.flatMap { try loginOptions.login(for: $0.url) }
    var queued: [Queued] = []
    do {
      for url in urls { queued.append(try await queue(url.url, to: destination, login)) }
    } catch {
      // Those before it go on.
      if !queued.isEmpty { try show(queued) }
      throw error
    }
    let downloads = queued.map(\.download)
    if wait {
      let prints = !json ? TransferWaiting.Prints.lines : urls.count == 1 ? .object : .list
      return try await TransferWaiting(transfers: downloads.map(\.transfer), isQuiet: quiet, prints: prints)
        .run(keeping: downloads, greetings: queued.map(\.line))
    }
    if login != nil { for download in downloads { await download.waitForLogin(isQuiet: quiet) } }
    try show(queued)
  }

  private func queue(_ url: URL, to destination: Destination, _ login: DownloadLogin?) async throws -> Queued {
    let (expected, retryPolicy) = (expectationOptions.expected, retryOptions.policy)
    var request = requestOptions.request(for: url)
    conditionOptions.apply(to: &request)
    let download = try await BackgroundDownload.start(
      request, to: destination, priority: priority.value,
      login: login.map { DownloadLogin(user: $0.user, password: $0.password, url: url) },
      isDiscretionary: conditionOptions.discretionary, notifies: notificationOptions.isWanted,
      showsEnd: notificationOptions.showsEnd(whileWaiting: wait)
    ) { task in
      task.transferRetryPolicy = retryPolicy
      (task as? URLSessionDownloadTask)?.expectedContent = expected
      conditionOptions.apply(to: task)
    }
    let name = url.withoutPassword.absoluteString
    return Queued(
      download: download, line: "Transfer \(download.transfer): \(name) → \(TextTable.printable(destination.path))",
      report: QueuedReport(
        transfer: download.transfer, session: download.identifier, url: name, destination: destination.path))
  }

  private func show(_ queued: [Queued]) throws {
    if json {
      let reports = queued.map(\.report)
      if urls.count == 1, let report = reports.first { return try JSONOutput.print(report) }
      return try JSONOutput.print(QueuedReports(transfers: reports))
    }
    guard !quiet else { return }
    for one in queued { StandardOutput.print(one.line) }
    let numbers = queued.map { "\($0.download.transfer)" }.joined(separator: " ")
    StandardError.print(
      "Follow \(queued.count == 1 ? "it" : "them") with `urlsession wait \(numbers)`, see all with `urlsession list`.")
  }
}
