import Foundation

/// The end of the last service that an app has started, where it ended before it served: as its log has it.
package struct ServiceStartFailure: Sendable, Equatable {
  /// The sentence that the app was told, too.
  package var reason: String
  /// That of the nearest line with a date; nil where there is none.
  package var date: Date?

  /// The end of a log of any length says it.
  private static let longestTail: UInt64 = 64 << 10

  package init(reason: String, date: Date? = nil) { (self.reason, self.date) = (reason, date) }

  /// nil where the last service has served, or the log does not say. Looks at files.
  ///
  /// - Parameter path: the log of services that apps start.
  package init?(inLogAt path: String) {
    // A pipe in its place would be waited for.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let end = try? file.seekToEnd(),
      (try? file.seek(toOffset: end > Self.longestTail ? end - Self.longestTail : 0)) != nil,
      let data = try? file.read(upToCount: Int(Self.longestTail))
    else { return nil }
    self.init(inLog: String(decoding: data, as: UTF8.self))
  }

  /// - Parameter text: lines of a log; the first may be a part of one.
  init?(inLog text: String) {
    let lines = text.split(separator: "\n")
    // From here on none has served.
    let begin = lines.lastIndex { $0.contains(" notice: serving on ") }.map { $0 + 1 } ?? 0
    let starts = lines[begin...]
    // The line of the program itself says more than that of the supervisor behind it.
    let index =
      starts.lastIndex { $0.hasPrefix("Error: ") }
      ?? starts.lastIndex { line in Self.supervisorsWords.contains { line.contains(" error: \($0)") } }
    guard let index, let reason = ServiceStartReport.lastLine(Self.withoutDate(lines[index])) else { return nil }
    self.reason = reason
    let nearest =
      lines[index...].lazy.compactMap(Self.date).first ?? lines[..<index].reversed().lazy.compactMap(Self.date).first
    date = nearest
  }

  private static let supervisorsWords = [
    "the service could not be started: ", "the service ended by itself too many times in a row",
  ]

  private static func withoutDate(_ line: Substring) -> String {
    guard let range = line.range(of: " error: "), date(line) != nil else { return String(line) }
    return String(line[range.upperBound...])
  }

  /// The date that a line of a log begins with.
  private static func date(_ line: Substring) -> Date? {
    line.split(separator: " ", maxSplits: 1).first.flatMap { try? Date(String($0), strategy: .iso8601) }
  }
}
