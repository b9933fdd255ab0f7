import Foundation

/// Paths of the command line. A `~` is a name like any other: the shell has replaced it where it was meant for the home folder.
enum CommandPath {
  /// Absolute, and without `.` and `..`.
  ///
  /// - Throws: `CommandFailure` for a relative path where the current folder is gone.
  static func absolute(
    _ argument: String, in folder: String = FileManager.default.currentDirectoryPath
  ) throws(CommandFailure) -> String {
    guard !argument.hasPrefix("/") else { return URL(fileURLWithPath: argument).standardizedFileURL.path }
    guard folder.hasPrefix("/") else {
      throw CommandFailure(
        .usage, "\(argument) can't be found: the current folder is gone", advice: "change to a folder that is there")
    }
    return URL(fileURLWithPath: "\(folder)/\(argument)").standardizedFileURL.path
  }
}
