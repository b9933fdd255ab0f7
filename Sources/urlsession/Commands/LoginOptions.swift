import ArgumentParser
import Foundation

/// The login of a background download, which is asked for before it begins.
struct LoginOptions: ParsableArguments {
  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp(
      "The user name for the server. The password is asked for on the terminal, before the download begins.",
      valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      "The password of --user: the first line of a file that no other user can read, - for standard input.",
      valueName: "file"),
    completion: .file())
  var passwordFile: String?

  func validate() throws { try LoginOptions.validate(user: user, passwordFile: passwordFile) }

  static func validate(user: String?, passwordFile: String?) throws {
    if passwordFile != nil, user == nil { throw ValidationError("--password-file needs --user NAME") }
    if let user, user.contains(":") {
      throw ValidationError(
        "--user takes the name alone, without a colon: a password in the arguments can be read by every user")
    }
  }

  /// nil without a user.
  func login(for url: URL) throws -> DownloadLogin? {
    guard let user else { return nil }
    let password = try passwordFile.map(SecretFile.firstLine)
    guard let password = password ?? PasswordPrompt.ask("Password of \(user) for \(url.host ?? "the server"): ") else {
      throw CommandFailure(
        .usage, "there is no terminal to ask for the password of \(user) on", advice: "use --password-file FILE")
    }
    return DownloadLogin(user: user, password: password, url: url)
  }
}
