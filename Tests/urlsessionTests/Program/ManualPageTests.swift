import Foundation
import Testing

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
