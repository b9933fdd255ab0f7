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
      whatever happens to this program or the terminal. The file appears when it is complete and the status is 2xx. \
      Without -o it gets the server's name for it, in the current folder, with a number when that name is taken. \
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

  /// A URL of which it is not known that the transfer service has it, and why.
  private struct Refused {
    let url: URL
    let failure: HandOverFailure
  }

  func run() async throws {
    if let output, Destination.isSpecialFile(output) {
      throw CommandFailure.cannotWrite(output, "it is not a file")
    }
    let destination = try Destination(argument: output)
    guard urls.count == 1 || destination.isFolder else {
      throw CommandFailure(
        .usage, "-o names one file for \(urls.count) URLs", advice: "name a folder that is there, or leave -o out")
    }
    let login = try urls.first.flatMap { try loginOptions.login(for: $0.url) }
    var queued: [Queued] = []
    var refused: [Refused] = []
    // Those of which this process hears the end, but for some that it leaves while others wait.
    var kept: [BackgroundDownload] = []
    for first in stride(from: 0, to: urls.count, by: Self.groupCount) {
      let group = urls[first..<min(first + Self.groupCount, urls.count)]
      // Those of more would be kept while others of this command wait for places, as they do in other commands.
      let isKept = wait && urls.count <= Self.groupCount
      let outcomes = await BackgroundDownload.start(
        group.map { order($0.url, to: destination, login) },
        leaving: isKept || login != nil ? .whenOthersWait : .atOnce)
      var downloads: [BackgroundDownload] = []
      for (url, outcome) in zip(group.map(\.url), outcomes) {
        switch outcome {
        case .success(let download):
          downloads.append(download)
          queued.append(self.queued(download, url, destination))
        case .failure(let failure): refused.append(Refused(url: url, failure: failure))
        }
      }
      if downloads.isEmpty, let cause = refused.last?.failure.cause, cause.status == .serviceUnavailable {
        // The service takes none of the others either.
        refused += urls[group.endIndex...].map { Refused(url: $0.url, failure: .notQueued(cause)) }
        break
      }
      if isKept {
        kept = downloads
      } else {
        if login != nil { await BackgroundDownload.waitForLogins(downloads, isQuiet: quiet) }
        for download in downloads { download.leave() }
      }
    }
    if let failure = refused.first?.failure.failure {
      if urls.count == 1 { throw failure }
      for one in refused {
        StandardError.print(TextTable.printable(one.failure.line(of: one.url.withoutPassword.absoluteString)))
      }
      // The others go on.
      guard !queued.isEmpty else { throw failure }
      StandardError.print(failure.line)
    }
    if wait {
      let prints = !json ? TransferWaiting.Prints.lines : urls.count == 1 ? .object : .list
      try await TransferWaiting(transfers: queued.map(\.download.transfer), isQuiet: quiet, prints: prints)
        .run(keeping: kept, greetings: queued.map(\.line))
    } else {
      try show(queued)
    }
    if let failure = refused.first?.failure { throw failure.failure.status }
  }

  /// How many are handed over together. The service has 128 connections with sessions for a program: this many that are kept, as
  /// many that are being closed, and as many new ones are fewer.
  private static let groupCount = 40

  private func order(_ url: URL, to destination: Destination, _ login: DownloadLogin?) -> BackgroundOrder {
    let expected = expectationOptions.expected
    var request = requestOptions.request(for: url)
    conditionOptions.apply(to: &request)
    return BackgroundOrder(
      request: request, destination: destination, priority: priority.value,
      login: login.map { DownloadLogin(user: $0.user, password: $0.password, url: url) },
      isDiscretionary: conditionOptions.discretionary, notifies: notificationOptions.isWanted,
      showsEnd: notificationOptions.showsEnd(whileWaiting: wait), retry: retryOptions.choice,
      isOfURLAlone: isOfURLsAlone
    ) { task in
      (task as? URLSessionDownloadTask)?.expectedContent = expected
      conditionOptions.apply(to: task)
    }
  }

  private var isOfURLsAlone: Bool {
    requestOptions.headers.isEmpty && loginOptions.user == nil && expectationOptions.expected == nil
      && priority == .default && !conditionOptions.areOfService
      && conditionOptions.cellular ?? true && conditionOptions.expensive ?? true && conditionOptions.constrained ?? true
  }

  private func queued(_ download: BackgroundDownload, _ url: URL, _ destination: Destination) -> Queued {
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
