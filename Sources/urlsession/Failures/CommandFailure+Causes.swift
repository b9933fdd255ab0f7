import Foundation
import TransferProtocol
import URLLoadingSystem

extension CommandFailure {
  /// A load that failed.
  ///
  /// - Parameter socket: The path of the socket that `--unix-socket` names.
  static func loading(_ error: any Error, socket: String? = nil) -> CommandFailure {
    let url = (error as? URLError)?.failingURL
    let error = error as NSError
    let isBadURL = error.domain == NSURLErrorDomain && error.code == URLError.Code.badURL.rawValue
    return loading(
      domain: error.domain, code: error.code, message: error.localizedDescription,
      advice: isBadURL
        ? self.advice(forBad: url) : isUnconnected(error) ? advice(forSocket: socket ?? url?.socketPath) : nil)
  }

  private static func isUnconnected(_ error: NSError) -> Bool {
    error.domain == NSURLErrorDomain && error.code == URLError.Code.cannotConnectToHost.rawValue
  }

  /// How a socket becomes one that can be connected to. Looks at the file; nil without a path.
  static func advice(forSocket path: String?) -> String? {
    guard let path else { return nil }
    if access(path, F_OK) != 0 {
      return errno == EACCES
        ? "you may not look into its folder: ask for the permission, or for membership of the folder's group"
        : "there is no such file: check the path, and that the server runs"
    }
    guard Destination.isSocket(path) else { return "the file is not a socket: check the path" }
    guard access(path, W_OK) == 0 else {
      return
        "you may not write to it: ask for the permission, or for membership of the file's group (see it with ls -l)"
    }
    return "the file is there, and no server listens on it: start the server"
  }

  /// nil for a URL whose scheme may be what is wrong.
  private static func advice(forBad url: URL?) -> String? {
    switch url?.scheme?.lowercased() {
    case "http+unix": "name the socket by its escaped path: http+unix://%2Frun%2Fdocker.sock/info"
    case "http", "https", "ftp", "ftps", "file", "data": "check the URL"
    default: nil
    }
  }

  static func loading(domain: String, code: Int, message: String, advice: String? = nil) -> CommandFailure {
    guard domain == NSURLErrorDomain else {
      return CommandFailure(.transferFailed, message, advice: advice ?? tryVerbosely)
    }
    let (status, usual) = ending(of: URLError.Code(rawValue: code) ?? .unknown)
    return CommandFailure(status, withoutNames(message), advice: advice ?? adviceForLimit(message) ?? usual)
  }

  /// A message of the library. What it says of time limits goes on with the names of properties, which programs set: it is cut
  /// off before them.
  static func withoutNames(_ message: String) -> String {
    guard adviceForLimit(message) != nil, let end = message.range(of: ". ") else { return message }
    return message[..<end.lowerBound] + "."
  }

  private static func adviceForLimit(_ message: String) -> String? {
    if message.hasPrefix(ErrorMapping.idleLimitPassed) { return "try again, or allow more seconds with --timeout" }
    if message.hasPrefix(ErrorMapping.wholeLimitPassed) { return "try again, or allow more seconds with --max-time" }
    return nil
  }

  /// The same of a command without options for time limits.
  func advising(whenTimedOut advice: String) -> CommandFailure {
    var failure = self
    if status == .timedOut { failure.advice = advice }
    return failure
  }

  private static let tryVerbosely = "see more with `urlsession get -v`"

  private static func ending(of code: URLError.Code) -> (CommandStatus, String) {
    switch code {
    case .cannotFindHost, .dnsLookupFailed: (.transferFailed, "check the host's name and the network")
    case .cannotConnectToHost: (.transferFailed, "check the host, the port, and that a server listens there")
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff:
      (.transferFailed, "connect to a network, or let `urlsession download` wait for one")
    case .networkConnectionLost: (.transferFailed, "try again, or let `urlsession download` go on after interruptions")
    case .timedOut: (.timedOut, "try again, or allow more time with --timeout or --max-time")
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot:
      (.transferFailed, "nothing was sent; check the host's name and the clock, or ask who runs the server")
    case .clientCertificateRequired, .clientCertificateRejected:
      (.transferFailed, "give a client certificate that this server accepts with --cert and --key")
    case .userAuthenticationRequired:
      (.transferFailed, "give the right name and password with --user or --netrc")
    case .unsupportedURL, .badURL: (.usage, "use a URL that begins with http://, https://, ftp://, file:// or data:")
    case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .cannotOpenFile:
      (.transferFailed, "check that the path is that of a file that can be read")
    case .httpTooManyRedirects: (.transferFailed, "the server redirects again and again; see where with -v")
    case .cannotCreateFile, .cannotWriteToFile, .cannotMoveFile, .cannotCloseFile:
      (.cannotWrite, "make room, or choose another place with -o")
    case .cannotDecodeContentData:
      (.unexpectedContent, "check what --sha256 and --size say, and ask who runs the server")
    case .cancelled: (.cancelled, "start it again when you want it")
    default: (.transferFailed, tryVerbosely)
    }
  }

  /// A response with a status of 400 or above, or one whose body is not the file that was asked for.
  ///
  /// - Parameter advice: nil for what is usual for the status.
  static func http(status: Int, url: String, advice: String? = nil) -> CommandFailure {
    let text = HTTPURLResponse.localizedString(forStatusCode: status)
    return CommandFailure(
      .httpError, "\(url): the server answered \(status) \(text)", advice: advice ?? self.advice(for: status))
  }

  /// Names options of `get`.
  static let adviceForLogin = "give the right name and password with --user or --netrc, or use --negotiate or --cert"

  private static func advice(for status: Int) -> String {
    switch status {
    case 206: "it is a part of the file, though the whole was asked for; try again, or tell who runs the server"
    case 304: "no file comes with it; leave conditions such as If-None-Match out"
    case 300..<400: "see what it points to with `urlsession get -i`"
    case 401: adviceForLogin
    case 407: "put the right name and password into the proxy's URL"
    case 403: "ask for access"
    case 404, 410: "check the URL"
    case 408, 425, 429, 503: "wait a while and try again"
    case 500...: "try again later, or tell who runs the server"
    default: "see the server's explanation with `urlsession get -i`"
    }
  }

  static func cannotWrite(_ path: String, _ reason: String) -> CommandFailure {
    CommandFailure(.cannotWrite, "\(path) can't be written: \(reason)", advice: "choose another place with -o")
  }

  static func unknown(transfers: [Int64]) -> CommandFailure {
    let numbers = transfers.map(String.init).joined(separator: ", ")
    return CommandFailure(
      .unknownTransfer, "there is no transfer \(numbers)", advice: "see them all with `urlsession list --all`")
  }

  static func over(transfers: [Int64]) -> CommandFailure {
    let numbers = transfers.map(String.init).joined(separator: ", ")
    return CommandFailure(
      .transferFailed, "transfer \(numbers) \(transfers.count == 1 ? "is" : "are") over, and told to the app",
      advice: "see how it ended with `urlsession why`; begin a new one with `urlsession download`")
  }

  /// The connection to the transfer service failed, or the service refused.
  static func service(_ error: any Error) -> CommandFailure {
    switch error {
    case let failure as CommandFailure: failure
    case let refusal as Refusal:
      CommandFailure(.serviceUnavailable, "the transfer service refuses: \(refusal.message)", advice: advice(refusal))
    case let error as ServiceUnavailable:
      CommandFailure(
        .serviceUnavailable, error.description, advice: advice(error))
    default:
      CommandFailure(
        .serviceUnavailable, "the transfer service can't be reached: \(error)", advice: "try again in a moment")
    }
  }

  private static func advice(_ error: ServiceUnavailable) -> String {
    if error.isNotInstalled { return "install it, or name the program in URLSESSIOND_PATH" }
    if ServiceUnavailable.isPassing(error) {
      return "try again in a moment; see what it did with `urlsession log`"
    }
    return "look for the cause with `urlsession doctor`"
  }

  private static func advice(_ refusal: Refusal) -> String {
    switch refusal.reason {
    case .incompatibleVersion: "install urlsession and urlsessiond of the same version"
    case .storage where refusal.hasTooManyConnections == true:
      "try again when other commands, such as `urlsession wait`, have ended"
    case .storage:
      "make room in the state directory, or mend what `urlsession doctor` finds; the service goes on by itself"
    case .shuttingDown: "try again in a moment"
    case .unsupported: "update urlsessiond and end the one that runs"
    case .invalidRequest, .unknownTask: "see what it does with `urlsession why`"
    default: "see the service's log"
    }
  }
}

extension URL {
  /// The path of the socket that the URL names; nil for URLs of other schemes than `http+unix`.
  fileprivate var socketPath: String? { scheme?.lowercased() == "http+unix" ? host(percentEncoded: false) : nil }
}
