import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession get`: loads while the caller waits.
struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Load a URL now.",
    discussion: """
      Without -o the body goes to standard output. A file named with -o is replaced only when the whole body has \
      arrived and the status is 2xx; until then the bytes are in a hidden folder beside it.
      """)

  @Argument(help: URLArgument.help) var url: URLArgument

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp(
      "Where the body goes: a file, a folder (the server's name for it is used), or - for standard output.",
      valueName: "file"),
    completion: .file())
  var output: String?

  @Option(name: [.customShort("X"), .customLong("method")], help: "The request's method. Default: GET, POST with -d.")
  var method: String?

  @OptionGroup var requestOptions: RequestOptions

  @OptionGroup(title: "Credentials and trust") var credentialOptions: CredentialOptions

  @Option(
    name: [.short, .customLong("data")],
    help: ArgumentHelp(
      "The request's body; @ and a path sends a file, @- standard input. Several are joined with & as fields of a form.",
      valueName: "data"),
    completion: .file())
  var data: [BodyArgument] = []

  @Option(help: ArgumentHelp("Longest time without a byte.", valueName: "seconds"))
  var timeout: Double?

  @Option(help: ArgumentHelp("Longest time for everything.", valueName: "seconds"))
  var maxTime: Double?

  @Flag(name: [.short, .customLong("include")], help: "Print the head of the response, too, on standard output.")
  var include = false

  @Flag(
    name: [.short, .long],
    help: ArgumentHelp(
      "Tell on standard error what is sent (>), received (<) and done (*: addresses, TLS, certificate, times); with -q, too."
    ))
  var verbose = false

  @Flag(name: [.short, .long], help: "Print nothing but errors, and what -v tells.")
  var quiet = false

  @Option(
    help: ArgumentHelp(
      "Write what happened on the network, as an HTTP Archive that browsers open. Credentials are not shown in it.",
      valueName: "file"),
    completion: .file())
  var har: String?

  @Flag(help: "Show credentials in the HTTP Archive.")
  var harCredentials = false

  @Option(
    help: ArgumentHelp(
      "Send the cookies of this file, and keep those that servers set in it. Netscape's format, as curl and wget have it.",
      valueName: "file"),
    completion: .file())
  var cookieJar: String?

  @Option(
    help: ArgumentHelp("Send the request to this Unix-domain socket; the URL's host is only told.", valueName: "path"),
    completion: .file())
  var unixSocket: String?

  @Flag(
    name: [.customShort("C"), .customLong("continue")],
    help: "Keep what has arrived when the load is interrupted, and go on with it the next time; needs -o FILE.")
  var continues = false

  @Flag(
    name: .customLong("http3"),
    help: "Try HTTP/3 though the server has not announced it; TCP is tried a moment later.")
  var assumesHTTP3 = false

  @Flag(help: "Load ftp URLs over TLS, or not at all. ftps URLs always are.")
  var ftpTLS = false

  @Flag(help: "Print a report in JSON on standard output; needs -o.")
  var json = false

  func validate() throws {
    if let timeout, !(timeout > 0) { throw ValidationError("--timeout takes a number of seconds above 0") }
    if let maxTime, !(maxTime > 0) { throw ValidationError("--max-time takes a number of seconds above 0") }
    if json, output == nil || output == "-" {
      throw ValidationError("--json needs -o FILE: standard output can't hold both the report and the body")
    }
    if json, include { throw ValidationError("--json has the head of the response already: leave -i out") }
    if continues, output == nil || output == "-" { throw ValidationError("--continue needs -o FILE") }
    try BodyArgument.checkJoining(data, for: url.url, headers: requestOptions.headers)
    if continues, !data.isEmpty || method.map({ $0 != "GET" }) ?? false {
      throw ValidationError("--continue goes on with what GET loads: leave -d and -X out")
    }
    if let twice = OutputTarget.namedTwice([("-o", output), ("--har", har), ("--cookie-jar", cookieJar)]) {
      throw ValidationError("\(twice) name the same file: give each its own")
    }
    if harCredentials, har == nil { throw ValidationError("--har-credentials needs --har FILE") }
    if let method, HeaderArgument(argument: "\(method):") == nil {
      throw ValidationError("'\(method)' can't be a method")
    }
  }

  func run() async throws {
    if let har { try PrivateFile.check(har, option: "--har") }
    if let cookieJar { try PrivateFile.check(cookieJar, option: "--cookie-jar") }
    let answers = try credentialOptions.answers(for: url.url)
    let target = try OutputTarget(output)
    let load = ForegroundLoad(
      request: try request(), target: target, kept: continues ? try keptPart(target) : nil, answers: answers,
      includesHead: include, isVerbose: verbose, isQuiet: quiet)
    let configuration = configuration()
    if let login = try answers.login() {
      configuration.urlCredentialStorage?.setDefaultCredential(login.credential, for: login.space)
    }
    let cookies = try cookieJar.map { try CookieJarFile(reading: $0) }
    configuration.httpCookieStorage = cookies?.storage
    var report = await load.run(configuration: configuration)
    if let cookies {
      do { try cookies.write() } catch {
        if report.failure == nil { report.fail(error) }
      }
    }
    if let har {
      do { try HARFile.write(load.metrics, to: har, credentials: harCredentials ? .included : .redacted) } catch {
        // The failure of the load is worth more than this.
        if report.failure == nil { report.fail(error) }
      }
    }
    if json { try JSONOutput.print(report) }
    if let failure = report.failure { throw failure }
    if let path = report.path, !quiet, !json {
      let size = ByteFormat.bytes(report.bytes)
      StandardError.print("\(TextTable.printable(path)): \(size) in \(ByteFormat.elapsed(report.seconds))")
    }
  }

  private func keptPart(_ target: OutputTarget) throws -> KeptPart {
    guard case .destination(let destination) = target, !destination.isFolder else {
      throw CommandFailure(
        .usage, "--continue can't know the name of the file in a folder, and a stream keeps nothing",
        advice: "name the file with -o FILE")
    }
    return try KeptPart(of: destination)
  }

  func request() throws -> URLRequest {
    var request = requestOptions.request(for: url.url)
    if let body = try BodyArgument.load(data) {
      request.httpMethod = "POST"
      request.httpBody = body
      if request.value(forHTTPHeaderField: "Content-Type") == nil {
        request.setValue(BodyArgument.formType, forHTTPHeaderField: "Content-Type")
      }
    }
    if let method { request.httpMethod = method }
    request.assumesHTTP3Capable = assumesHTTP3
    return request
  }

  private func configuration() -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    if let timeout { configuration.timeoutIntervalForRequest = timeout }
    if let maxTime { configuration.timeoutIntervalForResource = maxTime }
    configuration.unixSocketPath = unixSocket
    configuration.ftpRequiresTLS = ftpTLS
    if let file = credentialOptions.cacert { configuration.trustRoots = .file(file) }
    return configuration
  }
}
