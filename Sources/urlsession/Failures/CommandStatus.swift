/// How the program ends, for scripts. `Docs/CommandLine.md` says the same in words.
///
/// A number that curl or sysexits.h have for the same thing is theirs.
enum CommandStatus: Int32, Error, Sendable {
  case success = 0
  /// The network, TLS or the protocol failed.
  case transferFailed = 1
  /// The server answered with a status of 400 or above; to a file, with any that is not 2xx, or with a part of the file.
  case httpError = 22
  /// The body, or what the command prints, could not be written where it was asked for.
  case cannotWrite = 23
  /// A time limit passed.
  case timedOut = 28
  /// The command line makes no sense, or names a file that can't be read. Also what ArgumentParser ends with.
  case usage = 64
  /// The file is not the one that was asked for with --sha256 or --size (EX_DATAERR).
  case unexpectedContent = 65
  /// There is no transfer of that number.
  case unknownTransfer = 66
  /// The transfer service does not run and can't be started, or refuses.
  case serviceUnavailable = 69
  /// The transfer was cancelled, here or elsewhere.
  case cancelled = 75
  /// Control-C.
  case interrupted = 130
  /// SIGTERM.
  case terminated = 143
}
