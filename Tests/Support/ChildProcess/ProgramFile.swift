import Foundation

/// A program that a test makes: one that it or a program of its starts.
///
/// A file that any process has open for writing can't be executed: ETXTBSY. If this process wrote it, a child that
/// another thread starts meanwhile would have the descriptor until its own `exec`, also when it is closed here by then.
/// So another process writes the file.
package enum ProgramFile {
  /// The file is not there, or not whole.
  package struct Failure: Error, CustomStringConvertible {
    /// The status and the error text of the process that was to write it.
    package let description: String
  }

  /// Copies a program with its permissions. Blocks the thread for a moment.
  package static func copy(_ program: String, to path: String) throws {
    try run("/bin/cp", ["--preserve=mode", "--no-target-directory", "--", program, path])
  }

  /// Writes a script that every user may start. Blocks the thread for a moment.
  ///
  /// - Parameter text: begins with `#!` and the interpreter; at most 128 KiB.
  package static func write(_ text: String, to path: String) throws {
    try run("/bin/sh", ["-c", #"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh", path, text])
  }

  private static func run(_ program: String, _ arguments: [String]) throws {
    let ended = try ProgramRun.runNow(program, arguments)
    guard ended.status == 0 else {
      let errors = ended.errors.trimmingCharacters(in: .whitespacesAndNewlines)
      throw Failure(description: "\(program) ended with status \(ended.status): \(errors)")
    }
  }
}
