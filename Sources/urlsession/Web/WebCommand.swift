import ArgumentParser
import Foundation
import WebPage

/// `urlsession web`
struct WebCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "web",
    abstract: "Serve a web page of the transfers in the background.",
    discussion: """
      Prints a link to the page and serves it until Control-C, on the loopback addresses alone. The link opens the page \
      once: the browser that follows it keeps a cookie, and no other gets in.

      With --metrics-token-file, programs that send the first line of that file as a bearer token read counts for \
      Prometheus at /metrics.
      """)

  @Option(help: ArgumentHelp("Where to listen; without it, on a port that is free.", valueName: "port")) var port = 0

  @Option(
    help: ArgumentHelp("A file that no other user can read, with the token that reads /metrics.", valueName: "file"),
    completion: .file())
  var metricsTokenFile: String?

  func validate() throws {
    guard (0...65535).contains(port) else { throw ValidationError("a port is a number from 1 to 65535") }
  }

  func run() async throws {
    #if Web
    let token = try metricsTokenFile.map(WebCommand.token)
    let feed = TransferFeed(store: try .usual())
    let interruption = await Interruption {}
    defer { interruption.end() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await feed.run() }
      let port = port
      group.addTask {
        do {
          try await WebServer(source: feed, metricsToken: token).run(port: port) { StandardOutput.print($0) }
        } catch let error as WebAddressInUse {
          throw WebCommand.failure(error)
        } catch {
          throw CommandFailure(
            .serviceUnavailable, "the page can't be served on port \(port): \(error)",
            advice: "choose another with --port")
        }
      }
      // Neither ends by itself.
      try await group.next()
      group.cancelAll()
    }
    #else
    throw WebCommand.isAbsent
    #endif
  }

  /// Of a program that was built without the trait `Web`.
  static let isAbsent = CommandFailure(
    .usage, "this urlsession was built without its web page",
    advice:
      "build it with the trait Web: `swift build --traits Web`, or `make install`; the Debian package has the page")

  static func failure(_ error: WebAddressInUse) -> CommandFailure {
    let address = error.address.contains(":") ? "[\(error.address)]" : error.address
    return CommandFailure(
      .serviceUnavailable, "the page can't be served: another program listens on \(address), port \(error.port)",
      advice: "choose another with --port, or leave it out")
  }

  static func token(in path: String) throws -> String {
    let token = try SecretFile.firstLine(path).withBytes { String(decoding: $0, as: UTF8.self) }
    guard token.utf8.count >= 16, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw CommandFailure(
        .usage, "the first line of \(path) is no token", advice: "write 16 characters or more into it, without spaces")
    }
    return token
  }
}
