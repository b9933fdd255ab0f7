import Foundation
import LoopbackServer

/// Two network namespaces with a cable between them, and a server at the far end.
///
/// The namespaces last as long as processes that wait for the end of their standard input, so they end with the test.
final class NetworkCable: Sendable {
  static let serverAddress = "198.51.100.1"
  static let address = "198.51.100.2"
  static let otherAddress = "198.51.100.3"

  private let far: NamespaceHolder
  private let near: NamespaceHolder
  private let server: NamespaceHolder
  private let output: String
  let port: Int

  struct Failed: Error { let sentence: String }

  /// With a server of one file.
  ///
  /// - Parameters:
  ///   - rate: bytes a second, of each answer.
  ///   - firstRate: those of the first answer.
  convenience init(folder: String, size: Int64, rate: Int, firstRate: Int) async throws {
    let words = ["serve", "\(size)", "\(rate)", "\(firstRate)"]
    try await self.init(folder: folder, serving: [Programs.path("connectivity-probe")] + words)
  }

  /// - Parameter command: The server's; it prints its port first, and ends with its standard input or by a signal.
  init(folder: String, serving command: [String]) async throws {
    far = try NamespaceHolder(Namespaces.unshare + ["--net", "/bin/cat"])
    try await far.ready()
    let user = ["/usr/bin/nsenter", "--target", "\(far.pid)", "--user", "--preserve-credentials"]
    near = try NamespaceHolder(user + ["/usr/bin/unshare", "--net", "/bin/cat"])
    try await near.ready()
    try Self.ip(far, "link add cable type veth peer name cable netns \(near.pid)")
    try Self.ip(far, "address add \(Self.serverAddress)/24 dev cable")
    try Self.ip(near, "address add \(Self.address)/24 dev cable")
    for end in [far, near] {
      for name in ["lo", "cable"] { try Self.ip(end, "link set \(name) up") }
    }
    let output = folder + "/served"
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    guard let file = FileHandle(forWritingAtPath: output) else { throw CocoaError(.fileNoSuchFile) }
    server = try NamespaceHolder(far.entering(["net"]) + command, output: file)
    var port: Int?
    try await eventually("the port of the server") {
      port = Self.lines(output).first.flatMap { Int($0) }
      return port != nil
    }
    self.output = output
    self.port = port ?? 0
  }

  private static func ip(_ holder: NamespaceHolder, _ words: String) throws {
    let command = holder.entering(["net"]) + ["/usr/bin/env", "PATH=/usr/sbin:/sbin", "ip"]
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
  var place: [String] { near.entering(["net"]) }

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
