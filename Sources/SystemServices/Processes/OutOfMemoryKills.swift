import Foundation

/// How many processes of this process's control group, and of those below it, the kernel has ended for want of memory
/// (cgroup v2, `memory.events`).
package enum OutOfMemoryKills {
  /// nil where it is not known: without cgroup v2 or its memory controller, and in the root group.
  package static func count() -> Int? {
    guard let own = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8), let path = path(ofGroup: own),
      let events = try? String(contentsOfFile: path, encoding: .utf8)
    else { return nil }
    return count(in: events)
  }

  /// - Parameter text: the content of `/proc/PID/cgroup`.
  static func path(ofGroup text: String) -> String? {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    return "/sys/fs/cgroup\(line.dropFirst("0::".count))/memory.events"
  }

  static func count(in events: String) -> Int? {
    for line in events.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == "oom_kill" { return Int(words[1]) }
    }
    return nil
  }
}
