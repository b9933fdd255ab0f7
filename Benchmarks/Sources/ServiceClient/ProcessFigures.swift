import Foundation

/// What the kernel knows of a process.
struct ProcessFigures {
  let pid: pid_t

  /// Of its program, 15 bytes at most; empty once the process has ended.
  var name: String {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? ""
    return String(text.prefix { $0 != "\n" })
  }

  /// Bytes that are resident now, and the most that ever were.
  var residentBytes: Int { status("VmRSS:") * 1_024 }
  var peakBytes: Int { status("VmHWM:") * 1_024 }

  /// Seconds of processor time so far, of all its threads.
  var processorSeconds: Double {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    // The second field is the name in parentheses, and may have anything in it.
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// How often its threads have given up the processor by themselves: a thread that is woken does so once more.
  var voluntarySwitches: Int {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return threads.reduce(0) { $0 + number("voluntary_ctxt_switches:", in: "/proc/\(pid)/task/\($1)/status") }
  }

  private func status(_ name: String) -> Int { number(name, in: "/proc/\(pid)/status") }

  private func number(_ name: String, in path: String) -> Int {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
  }

  /// The processes that have this value in their environment, which marks a home of ours.
  static func all(marked variable: String) -> [ProcessFigures] {
    let pids = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { pid_t($0) }
    return pids.filter { $0 != getpid() }.compactMap { pid in
      let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
      return environment.split(separator: 0).contains(Data(variable.utf8)) ? ProcessFigures(pid: pid) : nil
    }
  }
}
