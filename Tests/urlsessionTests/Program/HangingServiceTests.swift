import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// The transfer service hangs while a command wants something of it.
@Suite struct HangingServiceTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Short ticks of the supervisor, and little patience of the commands.
  private static let impatience = ["URLSESSIOND_ANSWER_WAIT": "0.5", "URLSESSIOND_REQUEST_WAIT": "2"]

  /// The process of the service that its supervisor watches; nil where there is none at the moment.
  private func worker() -> pid_t? {
    let mark = Data("XDG_RUNTIME_DIR=\(sandbox.home.path)/run".utf8)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.first { pid in
      func read(_ name: String) -> Data {
        (try? FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(pid)/\(name)")).readToEnd()) ?? Data()
      }
      return read("environ").range(of: mark) != nil
        && read("cmdline").split(separator: 0).contains { $0.elementsEqual("--supervised".utf8) }
    }
  }

  private func hang() async throws {
    var stopped: pid_t?
    try await eventually("a service") {
      stopped = worker()
      return stopped != nil
    }
    #expect(kill(try #require(stopped), SIGSTOP) == 0)
  }

  @Test func commandsAskTheNextService() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let url = server.url("/f").absoluteString
    let started = try await sandbox.run("download", "--json", url, "-o", "f", variables: Self.impatience)
    let number = try #require(try started.json()["transfer"] as? Int, "\(started.errors)")
    for arguments in [["list"], ["pause", "\(number)"]] {
      try await hang()
      let ended = try await sandbox.start(arguments, variables: Self.impatience).ended()
      #expect(ended.status == 0, "\(ended.errors)")
      #expect(ended.lines.last?.contains(arguments[0] == "list" ? "f" : "paused") == true, "\(ended.text)")
      // It is said where the service hung for longer than the command's patience.
      #expect(["", WaitingNote.line + "\n"].contains(ended.errors))
    }
    await server.shutdown()
  }
}
