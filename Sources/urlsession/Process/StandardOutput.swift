import Foundation

/// Lines for people and programs that asked for a result.
enum StandardOutput {
  private static let output = ResultOutput(StreamOutput(descriptor: STDOUT_FILENO, name: "standard output")) {
    StandardError.print($0.line)
  }

  /// Nothing that is printed from now on is read or kept.
  static var isClosed: Bool { output.isClosed }

  /// Whether a result is missing where it was wanted, which standard error has told.
  static var hasFailed: Bool { output.hasFailed }

  static func print(_ line: String) { print(lines: [line]) }

  /// In one piece: a list may have thousands.
  static func print(lines: [String]) {
    var text: [UInt8] = []
    for line in lines {
      text.append(contentsOf: line.utf8)
      text.append(UInt8(ascii: "\n"))
    }
    output.write(text[...])
  }

  /// Text in UTF-8 that is in pieces, and the end of its last line.
  static func print(pieces: [ArraySlice<UInt8>]) {
    for piece in pieces { output.write(piece) }
    output.write([UInt8(ascii: "\n")])
  }
}
