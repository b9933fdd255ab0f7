import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession cookies`: what apps of this user keep.
struct CookiesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cookies",
    abstract: "Show or remove the cookies that apps of this user keep.",
    subcommands: [List.self, Clear.self])

  /// The store that a command is about.
  struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The cookies of this app alone, by its folder's name.", valueName: "name"))
    var app: String?

    /// - Throws: where the app has no store.
    func stores() throws -> [KeptCookies] {
      let all = KeptCookies.all()
      guard let app else { return all }
      let found = all.filter { $0.app == app }
      guard !found.isEmpty else {
        throw CommandFailure(
          .usage, "no app named \(app) keeps cookies", advice: "list the apps with: urlsession cookies list")
      }
      return found
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List cookies by app, without their values.")

    @OptionGroup var options: StoreOptions
    @Flag(help: "Print them in JSON on standard output.") var json = false
    @Flag(help: "Print them as a cookie file in Netscape's format, with their values.") var netscape = false

    func validate() throws {
      if json, netscape { throw ValidationError("--json and --netscape exclude each other") }
    }

    func run() async throws {
      let stores = try options.stores()
      if netscape {
        let all = HTTPCookieStorage()
        for store in stores { for cookie in store.storage.cookies ?? [] { all.setCookie(cookie) } }
        return StandardOutput.print(String(all.netscapeFile.dropLast()))
      }
      let lines = stores.flatMap { store in (store.storage.cookies ?? []).map { CookieLine($0, of: store.app) } }
      if json { return try JSONOutput.print(lines) }
      var table = TextTable([
        .init("APP"), .init("DOMAIN"), .init("PATH"), .init("NAME"), .init("EXPIRES"), .init("FOR"),
      ])
      for line in lines {
        table.append([
          line.app, line.domain, line.path, TextTable.printable(line.name),
          line.expires?.formatted(.iso8601) ?? "with the session", line.isSecure ? "https" : "any",
        ])
      }
      for line in table.lines { StandardOutput.print(line) }
    }
  }

  struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Remove cookies.")

    @OptionGroup var options: StoreOptions
    @Option(help: ArgumentHelp("Only those of this domain and below.", valueName: "domain")) var domain: String?

    func run() async throws {
      for store in try options.stores() {
        let domain = domain?.lowercased()
        for cookie in store.storage.cookies ?? [] {
          let own = cookie.domain.lowercased().drop { $0 == "." }
          guard domain.map({ own == $0 || own.hasSuffix("." + $0) }) ?? true else { continue }
          store.storage.deleteCookie(cookie)
        }
        guard await store.storage.isWritten() else {
          throw CommandFailure(
            .cannotWrite, "the cookies of \(store.app) can't be removed from the disk",
            advice: "check that \(store.path) can be written")
        }
      }
    }
  }
}
