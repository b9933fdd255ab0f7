import CommandLineOutput
import Foundation

/// Lines of a log that grows, and that is emptied now and then.
struct LogReader: ~Copyable {
  private let file: FileHandle
  private var offset: UInt64 = 0
  /// The beginning of a line whose end is not written yet.
  private var rest = Data()

  init(_ path: String) throws { file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)) }

  /// The lines that were added since the last call.
  mutating func lines() throws -> [String] {
    let end = try file.seekToEnd()
    // The service has emptied it.
    if end < offset { (offset, rest) = (0, Data()) }
    try file.seek(toOffset: offset)
    let added = try file.readToEnd() ?? Data()
    offset += UInt64(added.count)
    var pieces = (rest + added).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    rest = pieces.popLast().map { Data($0) } ?? Data()
    return pieces.map { TextTable.printable(String(decoding: $0, as: UTF8.self)) }
  }

  /// Whether the line is about the transfer.
  static func mentions(_ line: String, transfer: Int64) -> Bool {
    var text = line[...]
    while let range = text.range(of: "transfer \(transfer)") {
      guard let next = text[range.upperBound...].first, next.isASCII, next.isNumber else { return true }
      text = text[range.upperBound...]
    }
    return false
  }
}
