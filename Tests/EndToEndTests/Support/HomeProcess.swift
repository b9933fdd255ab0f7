import Foundation
import LoopbackServer

/// A process that runs in a home, found by the environment that it was started with.
struct HomeProcess: CustomStringConvertible {
  enum Role { case service, supervisor, other }

  let pid: pid_t
  let arguments: [String]

  var program: String { ((arguments.first ?? "") as NSString).lastPathComponent }

  var role: Role {
    guard program == "urlsessiond", !arguments.contains("--spawn-detached") else { return .other }
    return arguments.contains("--supervise") ? .supervisor : .service
  }

  var description: String { "\(pid) \(arguments.joined(separator: " "))" }

  static func all(marked variable: String) -> [HomeProcess] {
    let mark = Data(variable.utf8)
    return ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { name in
      guard let pid = pid_t(name), pid != getpid(), read("/proc/\(name)/environ").range(of: mark) != nil else {
        return nil
      }
      let arguments = read("/proc/\(name)/cmdline").split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      // A process that is just ending has neither.
      return arguments.isEmpty ? nil : HomeProcess(pid: pid, arguments: arguments)
    }
  }

  /// Stops it, and returns when none of its threads runs. Until then it may still answer.
  static func stop(_ pid: pid_t) async throws {
    kill(pid, SIGSTOP)
    try await eventually("process \(pid) to stand still") {
      let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
      return !threads.isEmpty
        && threads.allSatisfy { thread in
          // The state follows the name, which may have spaces and parentheses.
          let status = String(decoding: read("/proc/\(pid)/task/\(thread)/stat"), as: UTF8.self)
          return status.split(separator: ")").last?.split(separator: " ").first == "T"
        }
    }
  }

  /// Empty when the process has ended, also when it has not been reaped yet.
  private static func read(_ path: String) -> Data {
    guard let file = FileHandle(forReadingAtPath: path) else { return Data() }
    defer { try? file.close() }
    return (try? file.readToEnd()) ?? Data()
  }
}
