import Foundation
import Logging
import SystemServices

/// A line a message on standard error. Under systemd it begins with the priority that the journal understands
/// (sd-daemon(3)) and leaves the time to the journal.
struct StandardErrorLog: LogHandler {
  var logLevel: Logger.Level = .info
  var metadata: Logger.Metadata = [:]
  /// Limits its size, where standard error is a log of our own.
  private let file: LogFile?
  private let isJournal = JournalStream.isFile(
    STDERR_FILENO, named: ProcessInfo.processInfo.environment["JOURNAL_STREAM"])

  init(file: LogFile? = nil) { self.file = file }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var line = isJournal ? "<\(StandardErrorLog.priority(event.level))>" : "\(Date().ISO8601Format()) \(event.level): "
    // One message, one line: what a server or an app sent can't look like a message of ours, nor steer a terminal.
    line += StandardErrorLog.printable(event.message.description)
    for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }
    ) {
      line += " \(key)=\(StandardErrorLog.printable("\(value)"))"
    }
    let bytes = Array((line + "\n").utf8)
    if let file { return file.write(bytes) }
    // One write, so that lines of several threads do not mix.
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }

  private static func printable(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      result += scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
    }
  }

  private static func priority(_ level: Logger.Level) -> Int {
    switch level {
    case .critical: 2
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug, .trace: 7
    }
  }
}
