import ArgumentParser
import Foundation
import SystemServices

/// The user name for the server, and where its password comes from.
struct LoginOptions: ParsableArguments {
  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp(
      "The user name for servers that ask for one. The password is asked for on the terminal.",
      valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      "The password of --user: the first line of a file that no other user can read, - for standard input.",
      valueName: "file"),
    completion: .file())
  var passwordFile: String?

  func validate() throws {
    if passwordFile != nil, user == nil { throw ValidationError("--password-file needs --user NAME") }
    if let user, user.contains(":") {
      throw ValidationError(
        "--user takes the name alone, without a colon: a password in the arguments can be read by every user")
    }
  }

  /// Reads the password's file; nil where none is named.
  func password() throws -> SecretBytes? { try passwordFile.map(SecretFile.firstLine) }

  /// The login of a background download, which is asked for before it begins; nil without a user.
  func login(for url: URL) throws -> DownloadLogin? {
    guard let user else { return nil }
    let server = url.host ?? "the server"
    do {
      guard let password = try password() ?? PasswordPrompt.ask("Password of \(user) for \(server): ") else {
        throw CommandFailure(
          .usage, "no password of \(user) was typed", advice: "type it, or use --password-file FILE")
      }
      return DownloadLogin(user: user, password: password, url: url)
    } catch is PasswordPrompt.NoTerminal {
      throw CommandFailure(
        .usage, "there is no terminal to ask for the password of \(user) on",
        advice: "use --password-file FILE, or --password-file - for standard input")
    }
  }
}
