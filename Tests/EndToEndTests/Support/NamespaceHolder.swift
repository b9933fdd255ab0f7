import ChildProcess
import Foundation
import LoopbackServer

/// A process that keeps namespaces until its standard input ends, so that they end with the test.
final class NamespaceHolder: @unchecked Sendable {
  // Sendable by hand: changed by `init` alone.
  private let process = ChildProcess()
  private let input = Pipe()

  struct Missing: Error {}

  /// - Parameter words: a command that becomes `cat` in the namespaces, or one that ends with its standard input.
  init(_ words: [String], output: FileHandle = .nullDevice) throws {
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    try process.run()
  }

  var pid: pid_t { process.processIdentifier }

  /// Waits until it is `cat`, which tells that the namespaces are made.
  func ready() async throws {
    try await eventually("namespaces") {
      let name = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)
      if name != "cat\n", !process.isRunning { throw Missing() }
      return name == "cat\n"
    }
  }

  /// The command that enters its namespaces of these kinds, as nsenter(1) names them.
  func entering(_ kinds: [String]) -> [String] {
    ["/usr/bin/nsenter", "--target", "\(pid)", "--user", "--preserve-credentials"] + kinds.map { "--" + $0 }
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.terminate()
    process.waitUntilExit()
  }
}
