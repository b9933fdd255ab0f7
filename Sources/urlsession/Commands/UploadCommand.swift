import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession upload`: hands an upload to the transfer service, or sends a file while the caller waits.
struct UploadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload",
    abstract: "Send a file to a URL in the background.",
    discussion: """
      Prints the transfer's number and returns as soon as the transfer service has a copy of the file, which may be \
      changed or removed from then on. An upload that is interrupted goes on where it was at servers that can resume \
      uploads, and begins again at others. The body of the server's answer is not kept; --foreground sends the file now \
      and prints it.

      The password of --user is kept in the keychain until the upload is over. Where there is no keychain, the program \
      stays until the server has answered, and the transfer service has it in memory only.
      """)

  @Argument(help: "The file to send.", completion: .file()) var file: String

  @Argument(help: URLArgument.help) var url: URLArgument

  @Option(
    name: [.customShort("X"), .customLong("method")],
    help: "The request's method. One that may not be repeated, such as POST, is only where that does no harm.")
  var method = "PUT"

  @Flag(help: "Send it now, without the transfer service, and print the server's answer.") var foreground = false

  @Flag(help: "Stay until it is over, showing progress. Control-C leaves the transfer running.") var wait = false

  @OptionGroup var requestOptions: RequestOptions

  @OptionGroup var loginOptions: LoginOptions

  @OptionGroup var retryOptions: RetryOptions

  @OptionGroup var conditionOptions: ConditionOptions

  @Option(help: "How it ranks among this program's transfers.") var priority = TransferPriority.default

  @OptionGroup var notificationOptions: NotificationOptions

  @Flag(help: "Print the transfer in JSON.") var json = false

  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws {
    guard url.isHTTP else { throw ValidationError("uploads are to http and https URLs") }
    guard HeaderArgument(argument: "\(method):") != nil else {
      throw ValidationError("'\(method)' can't be a method")
    }
    if foreground, wait || json { throw ValidationError("--foreground prints the answer: leave --wait and --json out") }
    if foreground, retryOptions.choice != nil || notificationOptions.notify != nil {
      throw ValidationError("--foreground sends the file once: leave --retries, --retry-delay and --notify out")
    }
    if foreground, conditionOptions.areOfService {
      throw ValidationError(
        "--foreground sends the file now: leave --limit, --not-before, --discretionary and --yield out")
    }
  }

  func run() async throws {
    let path = try CommandPath.absolute(file)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
      FileManager.default.isReadableFile(atPath: path)
    else {
      throw CommandFailure(.usage, "\(file) can't be read", advice: "check the path; it has to be a file of yours")
    }
    var request = requestOptions.request(for: url.url)
    request.httpMethod = method
    conditionOptions.apply(to: &request)
    if request.value(forHTTPHeaderField: "Content-Type") == nil {
      request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    }
    if foreground { return try await send(path, request) }
    try await queue(path, request)
  }

  private func send(_ path: String, _ request: URLRequest) async throws {
    var request = request
    request.httpBody = try BodyArgument.file(path).load()
    let login = try loginOptions.login(for: url.url)
    let answers = CredentialAnswers(for: url.url, user: login?.user, password: login?.password) { _ in nil }
    let load = ForegroundLoad(
      request: request, target: try OutputTarget(nil), answers: answers, includesHead: false, isVerbose: false,
      isQuiet: quiet)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    if let failure = await load.run(configuration: configuration).failure { throw UploadCommand.ofForeground(failure) }
  }

  static func ofForeground(_ failure: CommandFailure) -> CommandFailure {
    var failure = failure.advising(
      whenTimedOut: "try again, or leave --foreground out: then the transfer service sends it")
    if failure.advice == CommandFailure.adviceForLogin {
      failure.advice = "give the right name and password with --user"
    }
    return failure
  }

  private func queue(_ path: String, _ request: URLRequest) async throws {
    let login = try loginOptions.login(for: url.url)
    let conditions = conditionOptions
    let order = BackgroundOrder(
      request: request, destination: Destination(path: path, isFolder: false), priority: priority.value, login: login,
      file: path, isDiscretionary: conditions.discretionary, notifies: notificationOptions.isWanted,
      showsEnd: notificationOptions.showsEnd(whileWaiting: wait), retry: retryOptions.choice
    ) { task in conditions.apply(to: task) }
    let upload = try await BackgroundDownload.start(order)
    let line = "Transfer \(upload.transfer): \(TextTable.printable(path)) → \(url.url.withoutPassword.absoluteString)"
    if wait {
      return try await TransferWaiting(transfers: [upload.transfer], isQuiet: quiet, prints: json ? .object : .lines)
        .run(keeping: upload, greeting: line)
    }
    if login != nil { await upload.waitForLogin(isQuiet: quiet) }
    if json {
      return try JSONOutput.print(
        QueuedReport(
          transfer: upload.transfer, session: upload.identifier, url: url.url.withoutPassword.absoluteString,
          destination: path))
    }
    guard !quiet else { return }
    StandardOutput.print(line)
    StandardError.print("Follow it with `urlsession wait \(upload.transfer)`, see all with `urlsession list`.")
  }
}
