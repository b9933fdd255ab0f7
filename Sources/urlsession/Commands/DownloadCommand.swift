import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession download`: hands a download to the transfer service.
struct DownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "download",
    abstract: "Load a URL to a file in the background.",
    discussion: """
      Prints the transfer's number and returns as soon as the transfer service has it; the download then goes on \
      whatever happens to this program or the terminal. The file appears when it is complete and the status is below \
      400. Without -o it gets the server's name for it, in the current folder, with a number when that name is taken.

      The password of --user is kept in the keychain until the download is over. Where there is no keychain, the \
      program stays until the server has asked for it, and the transfer service has it in memory only.
      """)

  @Argument(help: URLArgument.help) var url: URLArgument

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

  @Option(help: "How it ranks among this program's transfers.") var priority = TransferPriority.default

  @Flag(
    inversion: .prefixedNo,
    help: "Show the end on the desktop, where there is one. Without either: unless URLSESSION_NOTIFY is 0.")
  var notify: Bool?

  @Flag(help: "Print the transfer in JSON.") var json = false

  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws {
    guard url.isHTTP else { throw ValidationError("downloads in the background are of http and https URLs") }
    if output == "-" { throw ValidationError("a download in the background can't go to standard output: use `get`") }
  }

  func run() async throws {
    let destination = try Destination(argument: output)
    if let output, Destination.isSpecialFile(output) {
      throw CommandFailure.cannotWrite(output, "it is not a file")
    }
    let (expected, retryPolicy) = (expectationOptions.expected, retryOptions.policy)
    let login = try loginOptions.login(for: url.url)
    let download = try await BackgroundDownload.start(
      requestOptions.request(for: url.url), to: destination, priority: priority.value, login: login,
      notifies: notify ?? DownloadNotification.isWanted(),
      // The user of a command that waits sees the end in the terminal.
      showsEnd: !wait || notify == true
    ) { task in
      task.transferRetryPolicy = retryPolicy
      (task as? URLSessionDownloadTask)?.expectedContent = expected
    }
    let line =
      "Transfer \(download.transfer): \(url.url.withoutPassword.absoluteString) → \(TextTable.printable(destination.path))"
    if wait {
      return try await TransferWaiting(transfers: [download.transfer], isQuiet: quiet, prints: json ? .object : .lines)
        .run(keeping: download, greeting: line)
    }
    if login != nil { await download.waitForLogin(isQuiet: quiet) }
    if json {
      return try JSONOutput.print(
        QueuedReport(
          transfer: download.transfer, session: download.identifier, url: url.url.withoutPassword.absoluteString,
          destination: destination.path))
    }
    guard !quiet else { return }
    StandardOutput.print(line)
    StandardError.print("Follow it with `urlsession wait \(download.transfer)`, see all with `urlsession list`.")
  }
}
