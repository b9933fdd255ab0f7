import Foundation

/// Lines about what happens and what went wrong.
enum StandardError {
  static func print(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8)) }
}
