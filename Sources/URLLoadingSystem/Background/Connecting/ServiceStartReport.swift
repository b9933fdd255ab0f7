import Foundation
import Synchronization
import SystemServices

/// The reason why a service that this app starts does not come, in a sentence for people.
///
/// The process that is started hands over to a detached one and ends. When it fails, its last line on standard error says
/// why. The detached service says it in its log. It has our pipe open until it serves or ends.
final class ServiceStartReport: Sendable {
  private let failed = Mutex<String?>(nil)
  private let ended = Mutex(false)
  private let log: String?
  private let logStart: UInt64

  /// Texts of other programs are cut to this length.
  private static let longestReason = 500
  private static let longestTail: UInt64 = 64 << 10
  /// How long the end of the pipe is waited for, in milliseconds.
  private static let patience: Int32 = 15_000

  /// Call it before the start: lines that the log has already say nothing. Looks at files.
  init(log: String?) {
    self.log = log
    logStart = log.flatMap { FileHandle(forReadingAtPath: $0) }.flatMap { try? $0.seekToEnd() } ?? 0
  }

  /// The reason of the process that was started; nil while there is none.
  var failure: String? { failed.withLock { $0 } }

  /// Whether the service that was started has begun to serve, or has ended.
  var hasEnded: Bool { ended.withLock { $0 } }

  /// Starts the process. Its output is read when it has ended.
  func start(_ program: String, arguments: [String], environment: [String: String]) throws {
    let output = Pipe()
    let pid = try DetachedProcess.start(
      program, arguments: arguments, environment: environment, output: output.fileHandleForWriting.fileDescriptor)
    try? output.fileHandleForWriting.close()
    let reading = output.fileHandleForReading.fileDescriptor
    // A process of its own may have the other end open for longer.
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    DetachedProcess.whenEnded(pid) { [self] end in
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      let count = read(reading, &buffer, buffer.count)
      defer { try? output.fileHandleForReading.close() }
      guard end != .exited(0) else { return awaitEnd(of: reading) }
      let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
      let reason = ServiceStartReport.lastLine(text) ?? ServiceStartReport.sentence(end)
      failed.withLock { $0 = reason }
    }
  }

  /// Blocks the thread, which is that of the process that ended.
  private func awaitEnd(of pipe: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4 << 10)
    var polled = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
    while poll(&polled, 1, ServiceStartReport.patience) > 0 {
      let count = read(pipe, &buffer, buffer.count)
      if count == 0 { return ended.withLock { $0 = true } }
      guard count > 0 || errno == EAGAIN || errno == EINTR else { return }
    }
  }

  /// The last failure in the log since the start; nil when there is none. Looks at files.
  func reasonInLog() -> String? {
    guard let log, let file = FileHandle(forReadingAtPath: log), let end = try? file.seekToEnd() else { return nil }
    // A log that is shorter was begun anew meanwhile.
    let start = max(end < logStart ? 0 : logStart, end > Self.longestTail ? end - Self.longestTail : 0)
    guard (try? file.seek(toOffset: start)) != nil, let data = try? file.read(upToCount: Int(end - start)) else {
      return nil
    }
    return ServiceStartReport.reason(inLog: String(decoding: data, as: UTF8.self))
  }

  /// The last line with which a program ended, else the last error that was logged.
  static func reason(inLog text: String) -> String? {
    let lines = text.split(separator: "\n")
    let line = lines.last { $0.hasPrefix("Error: ") }
    return (line ?? lines.last { $0.contains(" error: ") || $0.contains(" critical: ") }).flatMap {
      lastLine(String($0))
    }
  }

  static func lastLine(_ text: String) -> String? {
    guard var line = text.split(whereSeparator: \.isNewline).last.map(String.init) else { return nil }
    if line.hasPrefix("Error: ") { line.removeFirst("Error: ".count) }
    line.unicodeScalars.removeAll { $0.properties.generalCategory == .control }
    while line.hasSuffix(".") { line.removeLast() }
    return line.isEmpty ? nil : String(line.prefix(longestReason))
  }

  private static func sentence(_ end: DetachedProcess.End) -> String {
    switch end {
    case .exited(let status): "it ended with status \(status) and said nothing"
    case .killed(let signal): "it was ended by signal \(signal)"
    }
  }
}
