import ArgumentParser
import Foundation
import URLLoadingSystem

/// `urlsession log`
struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print the log of the transfer service, or what it says of one transfer.",
    discussion: """
      The log is in the journal where systemd started the service, and otherwise in a file of its state folder, whose \
      older part is in a second file. Does not start the service.
      """)

  @Argument(help: ArgumentHelp("The number of a transfer; only lines about it are printed.", valueName: "id"))
  var id: Int64?

  @Flag(name: [.short, .long], help: "Go on with what is written from now on, until Control-C.") var follow = false

  @Option(
    name: [.customShort("n"), .long], help: ArgumentHelp("How many lines at most; 0 means all.", valueName: "count"))
  var lines = 200

  func validate() throws { guard lines >= 0 else { throw ValidationError("--lines takes 0 or more") } }

  func run() async throws {
    // The log is wanted above all where the service does not answer.
    let service = try? await ServiceConnection.open(
      startsService: false, patience: ServiceConnection.patienceOfCommands)
    let source = try LogSource.find(service: service?.service.processIdentifier)
    service?.close()
    switch source {
    case .file(let path): try await print(path)
    case .journal: try printJournal()
    case nil:
      throw CommandFailure(
        .serviceUnavailable, "there is no log: the transfer service has never run here",
        advice: "look at it with `urlsession doctor`")
    }
  }

  private func print(_ path: String) async throws {
    var reader: LogReader
    do { reader = try LogReader(path) } catch {
      throw CommandFailure(.transferFailed, "\(path) can't be read: \(error.localizedDescription)", advice: "check it")
    }
    for line in try reader.latest(lines > 0 ? lines : nil, where: isWanted) { StandardOutput.print(line) }
    while follow, !StandardOutput.isClosed {
      // Another process writes it; this is how long a line may be late.
      try await Task.sleep(for: .milliseconds(250))
      for line in try reader.lines() where isWanted(line) { StandardOutput.print(line) }
    }
  }

  private func isWanted(_ line: String) -> Bool { id.map { LogReader.mentions(line, transfer: $0) } ?? true }

  /// The arguments for journalctl(1). It looks through all of the journal, so the count comes after the choice.
  func journalArguments() -> [String] {
    var arguments = ["--user", "--no-pager", "--quiet", "--unit", LogSource.unit]
    if let id { arguments += ["--grep", "transfer \(id)\\b", "--case-sensitive=true"] }
    if lines > 0 { arguments += ["--lines", "\(lines)"] }
    return arguments + (follow ? ["--follow"] : [])
  }

  /// journalctl takes the place of this program.
  private func printJournal() throws {
    var arguments: [UnsafeMutablePointer<CChar>?] = (["journalctl"] + journalArguments()).map { strdup($0) }
    arguments.append(nil)
    execvp("journalctl", arguments)
    let code = errno
    arguments.forEach { free($0) }
    throw CommandFailure(
      .serviceUnavailable, "journalctl can't be started: \(String(cString: strerror(code)))",
      advice: "the log is in the journal of systemd")
  }
}
