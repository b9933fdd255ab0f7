import Foundation

/// Lines for people and programs that asked for a result.
enum StandardOutput {
  static func print(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}
