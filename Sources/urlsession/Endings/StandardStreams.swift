import Foundation

/// Lines for people and programs that asked for a result.
enum StandardOutput {
  static func print(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

/// Lines about what happens and what went wrong.
enum StandardError {
  static func print(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8)) }
}
