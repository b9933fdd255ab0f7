import ChildProcess
import Foundation
import LoopbackServer
import Testing
import TransferProtocol
import TransferScript

/// Programs that want more of the socket than there is for them, or that have no business there.
@Suite(.fewAtATime) struct SocketAccessTests {
  /// A program that opens connections and keeps them.
  private final class Crowd: @unchecked Sendable {
    // Sendable by hand: changed by `init` alone.
    private let process = ChildProcess()
    private let input = Pipe()
    private let output: String

    init(_ home: Home, name: String, count: Int) throws {
      let program = "\(home.path)/\(name)"
      try ProgramFile.copy(Programs.path("system-probe"), to: program)
      output = program + ".output"
      _ = FileManager.default.createFile(atPath: output, contents: nil)
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = ["crowd", "socket=\(home.path)/run/urlsessiond/socket", "count=\(count)"]
      process.standardInput = input
      process.standardOutput = FileHandle(forWritingAtPath: output)
      _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
      try process.run()
    }

    /// How many connections it has made.
    func connections() async throws -> Int {
      var count: Int?
      try await eventually("the connections of a crowd") {
        let line = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        count = line.hasSuffix("\n") ? Int(line.dropFirst("connected ".count).dropLast()) : nil
        return count != nil
      }
      return count ?? 0
    }

    func end() {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
  }

  private func files(of process: pid_t) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
  }

  @Test func thousandsOfConnectionsKeepNoAppFromTheService() async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      _ = try await app.tasks()
      let service = try await home.service()
      let crowds = try (1...4).map { try Crowd(home, name: "crowd-\($0)", count: 2_500) }
      defer { for crowd in crowds { crowd.end() } }
      // While they come, and when they are there.
      for label in ["f", "g"] {
        try await app.tell(.download(url: server.url("/f").absoluteString, label: label))
        try await app.tell(.flush)
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
        if label == "f" {
          for crowd in crowds { #expect(try await crowd.connections() > 1_000) }
        }
      }
      let open = try files(of: service)
      #expect(open < 1_024, "the service has \(open) files")
      // A program that comes only now finds a place, too.
      let other = try home.makeProgram("other-app")
      let fresh = try await home.start(other)
      #expect(try await fresh.tasks().isEmpty)
      try await fresh.quit()
      for crowd in crowds { crowd.end() }
      try await eventually("the end of their connections") { try files(of: service) < open }
      #expect(try await home.service() == service)
      #expect(home.serviceLog.contains("a connection was refused"))
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  private func stranger(_ home: Home, uid: uid_t?, files: [String] = []) async throws -> [Substring] {
    let hello = try MessageFraming.frame(ClientMessage(id: 1, request: .hello(Hello(client: "stranger"))))
    let run = try await ProgramRun.run(
      Programs.path("system-probe"),
      ["stranger", "socket=\(home.path)/run/urlsessiond/socket", "bytes=\(hello.base64EncodedString())"]
        + (uid.map { ["uid=\($0)"] } ?? []) + ["files=\(files.joined(separator: ":"))"])
    #expect(run.status == 0, "\(run.errors)")
    return run.output.split(separator: "\n")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
  func aProcessOfAnotherUserGetsNothing() async throws {
    let stranger: uid_t = 65_534
    try await Home.run { home in
      let app = try await home.start()
      let source = home.path + "/secret"
      try Data("secret".utf8).write(to: URL(fileURLWithPath: source))
      let unserved = "http://127.0.0.1:9/u"
      try await app.tell(.upload(url: unserved, file: source, label: "u"))
      try await app.tell(.download(url: unserved, label: "f", startsSuspended: true))
      try await app.tell(.flush)
      // The folders above are as open as they may be for a user.
      for folder in ["", "/state", "/run"] { chmod(home.path + folder, 0o755) }
      let copy = try #require(home.transferFiles().first { $0.hasPrefix("uploads/") })
      let files = [copy, "queue.sqlite", "urlsessiond.log"].map { "\(home.stateFolder)/\($0)" }
      let refused = "\(EACCES)"
      #expect(
        try await self.stranger(home, uid: stranger, files: files)
          == files.map { _ in "file \(refused)" } + ["socket \(refused)"])

      // The service itself refuses what the modes would let pass.
      let folder = home.path + "/run/urlsessiond"
      #expect(chmod(folder, 0o755) == 0 && chmod(folder + "/socket", 0o666) == 0)
      #expect(try await self.stranger(home, uid: stranger) == ["socket 0", "answer 0"])
      #expect(home.serviceLog.contains("the caller belongs to user \(stranger)"))
      // The same bytes are answered for the user.
      let own = try await self.stranger(home, uid: nil, files: files)
      #expect(own.dropLast() == files.map { _ in "file 0" } + ["socket 0"])
      #expect(own.last.map { $0.hasPrefix("answer ") && $0 != "answer 0" } == true, "\(own)")
      #expect(Set(try await app.tasks().map(\.label)) == ["u", "f"])
      for label in ["u", "f"] { try await app.tell(.cancel(label: label)) }
      for label in ["u", "f"] { try await home.log().waitFor(.didComplete, label: label) }
      try await home.expectNothingKept()
      try await app.quit()
    }
  }
}
