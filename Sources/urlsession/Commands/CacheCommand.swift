import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// `urlsession cache`: the responses that apps of this user keep.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Show or remove the responses that apps of this user keep.",
    subcommands: [List.self, Show.self, Clear.self])

  /// The caches that a command is about.
  struct CacheOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The cache of this app alone, by its folder's name.", valueName: "name"))
    var app: String?

    /// - Throws: where the app has no cache.
    func caches() throws -> [KeptResponses] {
      let all = KeptResponses.all()
      guard let app else { return all }
      let found = all.filter { $0.app == app }
      guard !found.isEmpty else {
        throw CommandFailure(
          .usage, "no app named \(app) keeps responses", advice: "list the apps with: urlsession cache list")
      }
      return found
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the apps, or with --app the responses of one.")

    @OptionGroup var options: CacheOptions
    @Flag(help: "Print them in JSON on standard output.") var json = false

    func run() throws {
      let caches = try options.caches()
      let lines = caches.flatMap { cache in cache.entries().map { CacheLine($0, of: cache.app) } }
      if json { return try JSONOutput.print(lines) }
      if options.app == nil {
        var table = TextTable([.init("APP"), .init("RESPONSES", .right), .init("SIZE", .right)])
        for cache in caches {
          let count = lines.filter { $0.app == cache.app }.count
          table.append([cache.app, String(count), ByteFormat.bytes(Int64(cache.usage))])
        }
        return table.lines.forEach { StandardOutput.print($0) }
      }
      var table = TextTable([
        .init("STATUS", .right), .init("SIZE", .right), .init("STORED"), .init("FRESH"), .init("URL"),
      ])
      for line in lines {
        table.append([
          String(line.status), ByteFormat.bytes(line.size), line.stored.formatted(.iso8601),
          line.isFresh ? "yes" : "no", line.url,
        ])
      }
      for line in table.lines { StandardOutput.print(line) }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show the fields of the responses that are stored for a URL.")

    @OptionGroup var options: CacheOptions
    @Argument(help: "The URL, as `list` prints it.") var url: String

    func run() throws {
      var isFirst = true
      for cache in try options.caches() {
        for entry in cache.entries() where entry.url == url {
          if !isFirst { StandardOutput.print("") }
          isFirst = false
          StandardOutput.print("\(entry.status) \(TextTable.printable(cache.app)) \(entry.isFresh ? "fresh" : "stale")")
          for field in entry.fields.fields {
            StandardOutput.print(TextTable.printable("\(field.name): \(field.value)"))
          }
        }
      }
      guard !isFirst else {
        throw CommandFailure(
          .usage, "nothing is stored for \(url)", advice: "list the URLs with: urlsession cache list --app NAME")
      }
    }
  }

  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Remove responses.")

    @OptionGroup var options: CacheOptions
    @Option(help: ArgumentHelp("Only those of this URL.", valueName: "url")) var url: String?

    func run() throws {
      for cache in try options.caches() { cache.clear(url: url) }
    }
  }
}
