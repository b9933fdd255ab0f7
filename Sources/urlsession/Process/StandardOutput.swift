import Foundation

/// Lines for people and programs that asked for a result.
enum StandardOutput {
  static func print(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }

  /// In one piece: a list may have thousands.
  static func print(lines: [String]) {
    var text: [UInt8] = []
    for line in lines {
      text.append(contentsOf: line.utf8)
      text.append(UInt8(ascii: "\n"))
    }
    try? write(text[...])
  }

  /// Text in UTF-8 that is in pieces, and the end of its last line.
  static func print(pieces: [ArraySlice<UInt8>]) {
    do {
      for piece in pieces { try write(piece) }
      try write([UInt8(ascii: "\n")])
    } catch {
      // As with a line, the reader has gone away.
    }
  }

  private static func write(_ piece: ArraySlice<UInt8>) throws {
    try piece.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
      let data = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
      try FileHandle.standardOutput.write(contentsOf: data)
    }
  }
}
