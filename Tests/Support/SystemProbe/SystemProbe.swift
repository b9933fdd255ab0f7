import Foundation

/// A program that uses the system's services in an environment that a test makes for it: libraries read variables such
/// as `KRB5_CONFIG` and `DBUS_SESSION_BUS_ADDRESS` of the whole process, so tests that run side by side cannot set them.
///
/// The first argument says what to do, the others are `name=value`. Results are lines on standard output.
@main struct SystemProbe {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    let options = Dictionary(
      arguments.dropFirst().map { argument -> (String, String) in
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      }, uniquingKeysWith: { $1 })
    switch arguments.first {
    case "ticket": await NegotiationProbe(options).findTicket()
    case "negotiate": await NegotiationProbe(options).negotiate()
    case "accept": AcceptanceProbe(options).accept()
    case "exit": ExitProbe(options).exitDuringCall()
    case "secrets": await SecretsProbe(options).obeyCommands()
    case "store": await SecretsProbe(options).chooseStore()
    case "crowd": SocketProbe(options).crowd()
    case "stranger": SocketProbe(options).stranger()
    default: exit(2)
    }
  }

  /// Writes a line at once, also into a pipe.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
