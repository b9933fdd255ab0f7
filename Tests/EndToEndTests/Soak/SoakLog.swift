import Foundation
import TransferScript

/// What the processes of an app have logged, read once: a soak has too many lines to read them all again and again.
struct SoakLog: Sendable {
  /// The end of a task, as one process heard it.
  struct End: Sendable {
    let process: pid_t
    /// On the clock on the wall.
    let time: Double
    let error: Int?
    let status: Int?
    let bytes: Int64?
  }

  private let path: String
  private var offset: UInt64 = 0
  private(set) var ends: [String: [End]] = [:]
  /// When an app first logged that the service has its acknowledgement of the end.
  private(set) var acknowledged: [String: Double] = [:]
  /// The calls of each label and process, but for progress.
  private(set) var calls: [String: [pid_t: [AppEntry.Kind]]] = [:]
  /// How many tasks the service had whose end was not acknowledged, when a process was last told.
  private(set) var unacknowledged: (process: pid_t, count: Int)?
  private var done: [pid_t: Int] = [:]
  /// The codes of the errors that sessions became invalid with.
  private var invalid: [pid_t: Int?] = [:]
  private var latest: pid_t = 0
  private(set) var launches = 0
  /// Tasks that were listed in answer to a command.
  private(set) var listed: [pid_t: Int] = [:]

  init(path: String) { self.path = path }

  /// Whether the session of the process that came last can't be used.
  var isInvalid: Bool { isInvalid(latest) }
  func isInvalid(_ process: pid_t) -> Bool { invalid[process] != nil }
  func invalidity(of process: pid_t) -> Int? { invalid[process] ?? nil }

  func isDone(_ command: Int, in process: pid_t) -> Bool { done[process, default: 0] >= command }

  /// Takes in what was logged since the last time.
  mutating func read() {
    guard let file = FileHandle(forReadingAtPath: path) else { return }
    defer { try? file.close() }
    guard (try? file.seek(toOffset: offset)) != nil, let data = try? file.readToEnd(),
      let end = data.lastIndex(of: UInt8(ascii: "\n"))
    else { return }
    offset += UInt64(data.distance(from: data.startIndex, to: end) + 1)
    for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
      if let entry = try? JSONDecoder().decode(AppEntry.self, from: line) { take(entry) }
    }
  }

  private mutating func take(_ entry: AppEntry) {
    switch entry.kind {
    case .started:
      latest = entry.process
      if entry.session != nil { launches += 1 }
    case .done: done[entry.process] = max(done[entry.process, default: 0], entry.command ?? 0)
    case .didBecomeInvalid: invalid[entry.process] = .some(entry.error)
    case .tasks: listed[entry.process] = entry.tasks?.count ?? 0
    case .acknowledged:
      unacknowledged = (entry.process, entry.count ?? 0)
      // A cancelled task may be acknowledged before its end is told.
      for label in entry.labels ?? [] where acknowledged[label] == nil { acknowledged[label] = entry.time }
    case .didFinishDownloading, .moved, .didComplete:
      guard let label = entry.label else { return }
      calls[label, default: [:]][entry.process, default: []].append(entry.kind)
      if entry.kind == .didComplete {
        let end = End(
          process: entry.process, time: entry.time, error: entry.error, status: entry.status, bytes: entry.bytes)
        ends[label, default: []].append(end)
      }
    default: break
    }
  }
}
