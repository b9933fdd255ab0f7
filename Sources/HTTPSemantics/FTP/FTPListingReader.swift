/// Makes one form of the listings of all servers: lines as `ls -l` writes them, ended with CR LF.
///
/// Lines of MLSD become such lines, and so do those that servers on Windows send for LIST. Other lines of LIST are passed
/// on as they are, but for `total`, `.` and `..`, which some servers send. Lines end with CR LF or LF; a line longer than
/// `longestLine` is left out.
package struct FTPListingReader: Sendable {
  package enum Form: Sendable, Equatable {
    /// MLSD.
    case facts
    /// LIST.
    case lines
  }

  /// In bytes, with the facts. Names on Linux have at most 255 bytes, paths 4,096.
  package static let longestLine = 16 * 1024

  private let form: Form
  private let now: Int64
  /// The beginning of a line that has not ended.
  private var line: [UInt8] = []
  private var isTooLong = false

  /// - Parameter now: In seconds since 1970.
  package init(_ form: Form, at now: Int64) {
    self.form = form
    self.now = now
  }

  /// The lines that `bytes` complete.
  package mutating func read(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        end(&output)
      } else if line.count <= FTPListingReader.longestLine {
        line.append(byte)
      } else {
        isTooLong = true
      }
    }
    return output
  }

  /// The last line, which may have no end.
  package mutating func finish() -> [UInt8] {
    var output: [UInt8] = []
    end(&output)
    return output
  }

  private mutating func end(_ output: inout [UInt8]) {
    defer {
      line.removeAll(keepingCapacity: true)
      isTooLong = false
    }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    guard !isTooLong, line.count <= FTPListingReader.longestLine, !line.isEmpty else { return }
    switch form {
    case .facts:
      guard case .entry(let entry) = FTPListingEntry.reading(facts: line),
        !FTPListingReader.isDots(entry.name[...])
      else { return }
      append(entry.line(at: now), to: &output)
    case .lines:
      if let entry = FTPListingEntry(dosLine: line) {
        if !FTPListingReader.isDots(entry.name[...]) { append(entry.line(at: now), to: &output) }
      } else if !FTPListingReader.isSuperfluous(line) {
        append(line, to: &output)
      }
    }
  }

  private func append(_ line: [UInt8], to output: inout [UInt8]) {
    output += line
    output += [0x0D, 0x0A]
  }

  private static func isDots(_ name: ArraySlice<UInt8>) -> Bool {
    name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
  }

  /// Whether the line is the sum of blocks, the folder itself or the one that it is in.
  private static func isSuperfluous(_ line: [UInt8]) -> Bool {
    let words = line.split(separator: 0x20)
    if words.count == 2, words[0].elementsEqual("total".utf8), words[1].allSatisfy(\.isDigit) { return true }
    guard line.first == UInt8(ascii: "d"), let last = words.last, isDots(last) else { return false }
    // Eight words where a server leaves out the group. Another word than a time or a year before the dots is a part of
    // the name, and so is more than the one space that `ls` writes between the date and the name.
    guard words.count == 8 || words.count == 9 else { return false }
    let before = words[words.count - 2]
    return last.startIndex == before.endIndex + 1 && last.endIndex == line.endIndex
      && before.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ":") }
  }
}
