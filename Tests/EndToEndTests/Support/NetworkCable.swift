import ChildProcess
import Foundation
import LoopbackServer

/// Two network namespaces with a cable between them, and a server at the far end.
///
/// The namespaces last as long as processes that wait for the end of their standard input, so they end with the test.
final class NetworkCable: Sendable {
  static let serverAddress = "198.51.100.1"
  static let address = "198.51.100.2"
  static let otherAddress = "198.51.100.3"

  private let far: Holder
  private let near: Holder
  private let server: Holder
  private let output: String
  let port: Int

  struct Failed: Error { let sentence: String }

  /// A process that ends with its standard input.
  private final class Holder: @unchecked Sendable {
    // Sendable by hand: changed by `init` alone.
    let process = ChildProcess()
    private let input = Pipe()

    init(_ words: [String], output: FileHandle = .nullDevice) throws {
      process.executableURL = URL(fileURLWithPath: words[0])
      process.arguments = Array(words.dropFirst())
      process.standardInput = input
      process.standardOutput = output
      _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
      try process.run()
    }

    var pid: pid_t { process.processIdentifier }

    /// The command that enters its namespaces.
    var entering: [String] {
      ["/usr/bin/nsenter", "--target", "\(pid)", "--user", "--net", "--preserve-credentials"]
    }

    func end() {
      try? input.fileHandleForWriting.close()
      process.terminate()
      process.waitUntilExit()
    }
  }

  /// With a server of one file.
  ///
  /// - Parameter rate: bytes a second, of each answer.
  convenience init(folder: String, size: Int64, rate: Int) async throws {
    try await self.init(folder: folder, serving: [Programs.path("connectivity-probe"), "serve", "\(size)", "\(rate)"])
  }

  /// - Parameter command: The server's; it prints its port first, and ends with its standard input or by a signal.
  init(folder: String, serving command: [String]) async throws {
    far = try Holder(Namespaces.unshare + ["--net", "/bin/cat"])
    try await Self.ready(far)
    let user = ["/usr/bin/nsenter", "--target", "\(far.pid)", "--user", "--preserve-credentials"]
    near = try Holder(user + ["/usr/bin/unshare", "--net", "/bin/cat"])
    try await Self.ready(near)
    try Self.ip(far, "link add cable type veth peer name cable netns \(near.pid)")
    try Self.ip(far, "address add \(Self.serverAddress)/24 dev cable")
    try Self.ip(near, "address add \(Self.address)/24 dev cable")
    for end in [far, near] {
      for name in ["lo", "cable"] { try Self.ip(end, "link set \(name) up") }
    }
    let output = folder + "/served"
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    guard let file = FileHandle(forWritingAtPath: output) else { throw CocoaError(.fileNoSuchFile) }
    server = try Holder(far.entering + command, output: file)
    var port: Int?
    try await eventually("the port of the server") {
      port = Self.lines(output).first.flatMap { Int($0) }
      return port != nil
    }
    self.output = output
    self.port = port ?? 0
  }

  /// Its exec has happened, which tells that the namespaces are made.
  private static func ready(_ holder: Holder) async throws {
    try await eventually("namespaces") {
      let name = try? String(contentsOfFile: "/proc/\(holder.pid)/comm", encoding: .utf8)
      if name != "cat\n", !holder.process.isRunning { throw Failed(sentence: "no namespaces") }
      return name == "cat\n"
    }
  }

  private static func ip(_ holder: Holder, _ words: String) throws {
    let command = holder.entering + ["/usr/bin/env", "PATH=/usr/sbin:/sbin", "ip"]
    let run = try Namespaces.runNow(command + words.split(separator: " ").map { String($0) })
    guard run.status == 0 else { throw Failed(sentence: "ip \(words): \(run.errors)") }
  }

  private static func lines(_ path: String) -> [Substring] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    // A line is whole with its end.
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
  }

  // MARK: For tests

  var url: String { "http://\(Self.serverAddress):\(port)/f" }

  /// The command that runs a program at the near end.
  var place: [String] { near.entering }

  /// What the server has answered: statuses and offsets.
  var answers: [(status: Int, offset: Int64)] {
    Self.lines(output).dropFirst().compactMap { line in
      let numbers = line.split(separator: " ")
      guard numbers.count == 2, let status = Int(numbers[0]), let offset = Int64(numbers[1]) else { return nil }
      return (status, offset)
    }
  }

  /// Runs `ip` at the near end.
  func change(_ words: String) throws { try Self.ip(near, words) }

  func end() { for holder in [server, near, far] { holder.end() } }
}
