import Foundation

/// A process, told apart from a later one that got the same number by the time it started.
package struct ProcessIdentity: Codable, Sendable, Hashable {
  package var pid: pid_t
  /// In clock ticks since the machine started.
  package var startTime: UInt64

  package init(pid: pid_t, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// The process that has this number now; nil when there is none, or only the remains of one.
  package init?(pid: pid_t) {
    guard let status = ProcessIdentity.status(of: pid), status.state != "Z", status.state != "X" else { return nil }
    self.init(pid: pid, startTime: status.startTime)
  }

  package var isAlive: Bool { ProcessIdentity(pid: pid) == self }

  /// The number of the process that started it, or that has its children since that one has ended; nil where it has ended itself.
  package var parent: pid_t? {
    guard let status = ProcessIdentity.status(of: pid), status.startTime == startTime else { return nil }
    return status.parent
  }

  private static func status(of pid: pid_t) -> (state: Character, parent: pid_t, startTime: UInt64)? {
    guard pid > 0, let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return nil }
    return parse(stat: text)
  }

  /// proc(5): the second field is the program's name in parentheses, which may itself hold spaces and parentheses;
  /// what follows the last one is regular. Field 3 is the state, field 4 the parent, field 22 the start time.
  static func parse(stat text: String) -> (state: Character, parent: pid_t, startTime: UInt64)? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 19, let state = fields[0].first, let parent = pid_t(fields[1]),
      let startTime = UInt64(fields[19])
    else { return nil }
    return (state, parent, startTime)
  }
}
