import ArgumentParser
import Foundation
import URLLoadingSystem

/// The command line. Started by a person or a script it runs one command; started by the transfer service it puts
/// finished downloads in their places.
@main
enum Program {
  static func main() async {
    // A reader that went away is an error of `write`, reported like any other, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    StandardDescriptors.occupy()
    if await URLSessionApplication.shared.run(LaunchHandler()) { return }
    do {
      var command = try URLSessionCommand.parseAsRoot()
      if var waiting = command as? any AsyncParsableCommand {
        try await waiting.run()
      } else {
        try command.run()
      }
      if StandardOutput.hasFailed { throw CommandStatus.cannotWrite }
    } catch let failure as CommandFailure {
      StandardError.print(failure.line)
      exit(failure.status.rawValue)
    } catch let status as CommandStatus {
      // The reason was printed already.
      exit(status.rawValue)
    } catch {
      URLSessionCommand.exit(withError: error)
    }
  }
}
