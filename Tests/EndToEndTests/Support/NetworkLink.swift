import Foundation
import LoopbackServer

/// Two networks of a test's own with a link between them that has a delay, a rate and a queue, as `Benchmarks/Link/link.c`
/// makes them, and a server of one file at the far end.
///
/// Link and server last as long as processes that wait for the end of their standard input, so they end with the test.
final class NetworkLink: Sendable {
  static let serverAddress = "192.0.2.1"
  static let address = "192.0.2.2"

  /// Each way: milliseconds, megabits a second, and KiB that wait for it.
  struct Properties: Sendable {
    var delay = 25
    var rate = 10
    var queue = 320

    var bytesPerSecond: Double { Double(rate) * 1e6 / 8 }
  }

  let properties: Properties
  private let link: NamespaceHolder
  private let server: NamespaceHolder
  /// The process that carries the packets.
  private let pid: String
  private let port: Int
  /// The command that runs a program at the near end.
  let place: [String]

  struct Failed: Error { let sentence: String }

  /// - Parameters:
  ///   - folder: for what the processes print.
  ///   - size: of the file.
  init(folder: String, size: Int64, _ properties: Properties = Properties()) async throws {
    self.properties = properties
    let (made, served) = (folder + "/link", folder + "/link-server")
    let words = [
      Programs.path("network-link"), Self.serverAddress, Self.address, "\(properties.delay)", "0", "\(properties.rate)",
      "\(properties.queue)", "1",
    ]
    link = try NamespaceHolder(Self.whileInputIsOpen(words, log: folder + "/link.log"), output: Self.output(made))
    let places = try await Self.line(of: made, "the link").split(separator: " ").map { String($0) }
    guard places.count == 3, let pid = places[0].split(separator: "/").dropFirst().first else {
      link.end()
      throw Failed(sentence: "the link is not made: \(places)")
    }
    self.pid = String(pid)
    func entering(_ network: String) -> [String] {
      ["/usr/bin/nsenter", "--user=\(places[0])", "--preserve-credentials", "--net=\(network)", "--"]
    }
    place = entering(places[2])
    let serve = [Programs.path("connectivity-probe"), "serve", "\(size)", "\(1 << 30)", "\(1 << 30)"]
    do {
      server = try NamespaceHolder(entering(places[1]) + serve, output: Self.output(served))
      port = Int(try await Self.line(of: served, "the port of the server")) ?? 0
    } catch {
      link.end()
      throw error
    }
  }

  /// A command that runs another one until standard input ends.
  private static func whileInputIsOpen(_ words: [String], log: String) -> [String] {
    let script = """
      PATH=$PATH:/usr/sbin:/sbin "$@" 2>"$0" &
      link=$!
      trap 'kill $link' TERM
      cat >/dev/null
      kill $link
      wait $link
      """
    return ["/bin/sh", "-c", script, log] + words
  }

  private static func output(_ path: String) throws -> FileHandle {
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileNoSuchFile) }
    return file
  }

  /// The first line of a file, once it is whole.
  private static func line(of path: String, _ what: String) async throws -> String {
    var line = ""
    try await eventually(what) {
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      guard let end = text.firstIndex(of: "\n") else { return false }
      line = String(text[..<end])
      return true
    }
    return line
  }

  // MARK: For tests

  var url: String { "http://\(Self.serverAddress):\(port)/f" }

  /// Bytes that have come out of the link at the near end, with the heads of their packets.
  func carried() throws -> Int64 {
    let devices = try String(contentsOfFile: "/proc/\(pid)/net/dev", encoding: .utf8)
    for line in devices.split(separator: "\n") {
      let parts = line.split(separator: ":")
      guard parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == "far0",
        let bytes = parts[1].split(separator: " ").first.flatMap({ Int64($0) })
      else { continue }
      return bytes
    }
    throw Failed(sentence: "the device of the link is gone")
  }

  func end() { for holder in [server, link] { holder.end() } }
}
