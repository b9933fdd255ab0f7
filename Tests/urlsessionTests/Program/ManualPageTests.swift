import Foundation
import Testing
import TransferProtocol

@testable import urlsession

/// The manual pages name every command and option that the programs have.
@Suite struct ManualPageTests {
  /// The part of `--experimental-dump-help` that counts here.
  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var shouldDisplay: Bool?
      var subcommands: [Command]?
      var arguments: [Argument]?
    }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }

      var shouldDisplay: Bool
      var names: [Name]?
    }

    var command: Command
  }

  private static let pages: String = {
    let tests = (#filePath as NSString).deletingLastPathComponent
    return (tests as NSString).deletingLastPathComponent + "/../../Packaging/man"
  }()

  /// The program's commands by their names in a row, with the options of each, as a manual page writes them.
  private func options(of command: Dump.Command, below path: String = "") -> [(command: String, option: String?)] {
    guard command.shouldDisplay != false, command.commandName != "help" else { return [] }
    let names = (command.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
    let own = names.map { name in
      (command: path, option: Optional(name.kind == "long" ? "-" + name.name : name.name))
    }
    let nested = (command.subcommands ?? []).flatMap {
      options(of: $0, below: path.isEmpty ? $0.commandName : "\(path) \($0.commandName)")
    }
    return [(command: path, option: nil)] + own + nested
  }

  /// The first paragraph of a command's section in Docs/CommandLine.md is its synopsis.
  @Test func everySynopsisHasEveryOption() async throws {
    let document = try String(contentsOfFile: "\(Self.pages)/../../Docs/CommandLine.md", encoding: .utf8)
    var synopses: [String: String] = [:]
    for section in document.components(separatedBy: "\n## urlsession ").dropFirst() {
      let paragraphs = section.components(separatedBy: "\n\n")
      for name in paragraphs[0].components(separatedBy: ", ") where paragraphs.count > 1 {
        synopses[name] = paragraphs[1]
      }
    }
    let ended = try await Sandbox().run("--experimental-dump-help")
    let commands = try JSONDecoder().decode(Dump.self, from: ended.output).command.subcommands ?? []
    #expect(commands.count > 10)
    for command in commands where command.commandName != "help" {
      let synopsis = try #require(synopses[command.commandName], "\(command.commandName)")
      let nested = (command.subcommands ?? []).filter { $0.commandName != "help" }
      for argument in ([command] + nested).flatMap({ $0.arguments ?? [] }) where argument.shouldDisplay {
        let names = (argument.names ?? []).map(\.name)
        guard !names.isEmpty, !names.contains("help"), !names.contains("version") else { continue }
        #expect(names.contains { Self.has(synopsis, $0) }, "\(names) of \(command.commandName)")
      }
    }
  }

  /// Whether a synopsis has an option, by its long or its short name; `--[no-]x` has `x` and `no-x`.
  private static func has(_ synopsis: String, _ name: String) -> Bool {
    let words = synopsis.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
    let positive = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
    return words.contains("-\(name)") && name.count == 1 || words.contains("--\(name)")
      || synopsis.contains("--[no-]\(positive)")
  }

  @Test func thePageSaysWhenThingsThatWereSetAsideAreRemoved() throws {
    let page = try String(contentsOfFile: "\(Self.pages)/urlsessiond.8", encoding: .utf8)
    let paragraph = try #require(page.components(separatedBy: "\n.It ").first { $0.contains("set-aside") })
    let text = paragraph.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    #expect(text.contains("removes each folder \(RemainsLimits.days) days after the date in its name"))
    #expect(text.contains("while all of them have more than \(RemainsLimits.gibibytes) GiB"))
  }

  @Test(arguments: [("urlsession", "urlsession.1"), ("urlsessiond", "urlsessiond.8")])
  func everyCommandAndOptionIsThere(_ program: String, _ page: String) async throws {
    let sandbox = try Sandbox()
    let run = try RunningProgram(
      Sandbox.program(program), arguments: ["--experimental-dump-help"], environment: sandbox.environment,
      folder: sandbox.work, files: sandbox.home.path + "/tmp/dump", input: nil)
    let dump = try JSONDecoder().decode(Dump.self, from: try await run.ended().output)
    let text = try String(contentsOfFile: "\(Self.pages)/\(page)", encoding: .utf8)
    // One word a piece: `.It Fl o , Fl -output Ar file` names the flags `o` and `-output`.
    let words = text.split { $0 == " " || $0 == "\n" }.map(String.init)
    let flags = Set(zip(words, words.dropFirst()).filter { $0.0.hasSuffix("Fl") }.map(\.1))
    let all = options(of: dump.command)
    #expect(all.count > 5)
    for (command, option) in all {
      if let option {
        #expect(flags.contains(option), "-\(option) of \(program) \(command) is not in \(page)")
      } else if !command.isEmpty {
        #expect(text.contains("Cm \(command)"), "\(command) is not in \(page)")
      }
    }
  }
}
