import CommandLineOutput
import Foundation
import SystemServices

/// Lines of a log that grows, and that is copied away and emptied now and then (`LogFile`).
struct LogReader: ~Copyable {
  private let path: String
  private let file: FileHandle
  private var offset: UInt64 = 0
  /// The beginning of a line whose end is not written yet.
  private var rest = Data()

  /// How often a log is read again that was copied away meanwhile.
  private static let attempts = 3

  init(_ path: String) throws {
    self.path = path
    file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
  }

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

  /// The latest lines, of the part that was copied away as well. `lines()` goes on behind them.
  ///
  /// - Parameter count: How many at most; nil means all.
  mutating func latest(_ count: Int?, where isWanted: (String) -> Bool) throws -> [String] {
    var found: [String] = []
    for _ in 0..<LogReader.attempts {
      (offset, rest) = (0, Data())
      var older = try olderPart()
      found = try lines().filter(isWanted)
      // Lines that were copied away before they were read are in a new copy.
      guard older?.identity == (try olderPart()?.identity) else { continue }
      if let count, found.count >= count { break }
      found = (try older?.lines().filter(isWanted) ?? []) + found
      break
    }
    return count.map { Array(found.suffix($0)) } ?? found
  }

  /// nil where nothing was copied away.
  private func olderPart() throws -> LogReader? {
    do { return try LogReader(LogFile.olderPath(of: path)) } catch CocoaError.fileReadNoSuchFile { return nil }
  }

  /// The numbers of the device and of the file.
  private var identity: [UInt64] {
    var status = stat()
    guard fstat(file.fileDescriptor, &status) == 0 else { return [] }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
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
