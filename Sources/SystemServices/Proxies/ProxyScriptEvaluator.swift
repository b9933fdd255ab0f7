import CLinux
import Foundation

/// Evaluates proxy auto-configuration scripts with `pactester` of the package libpacparser1.
///
/// A script is a program from the network. It runs in a process of its own, which can neither crash this one nor hang
/// it: it is killed when it takes too long.
package struct ProxyScriptEvaluator: Sendable {
  package enum Failure: Error, Sendable, Equatable {
    /// The script is no program, throws, has no FindProxyForURL, or takes too long; what the evaluator says.
    case scriptFailed(String)
    case cannotRun(String)
  }

  private let program: String
  private let patience: Duration

  /// nil where no evaluator is installed.
  package init?(
    searching folders: [String] = ["/usr/bin", "/usr/local/bin", "/bin"], patience: Duration = .seconds(10)
  ) {
    let candidates = folders.map { $0 + "/pactester" }
    guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else { return nil }
    program = found
    self.patience = patience
  }

  /// The result of the script's `FindProxyForURL(url, host)`. Blocks.
  package func answer(of script: String, url: String, host: String) throws -> String {
    let file = try ProxyScriptEvaluator.privateFile(script)
    defer { unlink(file) }
    var ends: [Int32] = [-1, -1]
    // A pair of sockets, since only these are closed on exec from the start.
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure.cannotRun(String(cString: strerror(errno)))
    }
    let (reading, writing) = (ends[0], ends[1])
    defer { close(reading) }
    let pid: pid_t
    do {
      defer { close(writing) }
      // The script gets nothing of this process's environment.
      pid = try DetachedProcess.start(
        program, arguments: ["-p", file, "-u", url, "-h", host],
        environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"], output: writing)
    } catch { throw Failure.cannotRun("\(error)") }
    // A limit of the kernel's, since this process may end before a script that never does.
    _ = clinux_limit_computing(pid, UInt32(clamping: patience.components.seconds + 1))
    let output = ProxyScriptEvaluator.read(reading, until: .now + patience)
    if output == nil { kill(pid, SIGKILL) }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    guard let output else { throw Failure.scriptFailed("it took longer than \(patience)") }
    let lines = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    guard status == 0, let answer = lines.last else {
      throw Failure.scriptFailed(lines.prefix(3).joined(separator: " "))
    }
    return answer
  }

  /// Everything until the other end closes; nil when that takes too long.
  private static func read(_ descriptor: Int32, until deadline: ContinuousClock.Instant) -> String? {
    var collected: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let left = deadline - .now
      guard left > .zero else { return nil }
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let milliseconds = Int32(clamping: Int64(left / .milliseconds(1)) + 1)
      let ready = poll(&wait, 1, milliseconds)
      if ready < 0 && errno == EINTR { continue }
      guard ready > 0 else { return nil }
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return String(decoding: collected, as: UTF8.self) }
      // An answer is short; the rest of a longer output is dropped.
      if collected.count < 64 * 1024 { collected += buffer[..<count] }
    }
  }

  /// A file that only this user can read, with the text in it.
  private static func privateFile(_ text: String) throws -> String {
    var template = Array((NSTemporaryDirectory() + "/proxy-script-XXXXXX").utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Failure.cannotRun(String(cString: strerror(errno))) }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do { try handle.write(contentsOf: Data(text.utf8)) } catch {
      unlink(path)
      throw Failure.cannotRun("\(error)")
    }
    try? handle.close()
    return path
  }
}
