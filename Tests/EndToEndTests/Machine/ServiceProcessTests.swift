import Foundation
import LoopbackServer
import SystemServices
import Testing

/// The service that an app starts is none of that app: it has limits and an environment of its own.
@Suite(.fewAtATime) struct ServiceProcessTests {
  /// A shell lowers the limits of the app, and leaves the signal for files that get too large as it ends a process.
  private static let poorPlace = [
    "/bin/sh", "-c", "ulimit -S -n 256; ulimit -S -f 200000; ulimit -S -t 3000; umask 0122; exec \"$0\" \"$@\"",
  ]

  private static let variables = [
    "LANG": "tlh_QO.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "KRB5CCNAME": "FILE:/nonexistent",
    "PATH": "/usr/bin:/bin:/of/the/app", "SECRET_OF_THE_APP": "x", "http_proxy": "http://127.0.0.1:1",
  ]

  private func fields(of pid: pid_t, _ file: String) throws -> [String: String] {
    let text = try String(contentsOfFile: "/proc/\(pid)/\(file)", encoding: .utf8)
    let lines = text.split(separator: "\n").map { $0.split(separator: ":", maxSplits: 1) }.filter { $0.count == 2 }
    return Dictionary(
      lines.map { (String($0[0]), $0[1].trimmingCharacters(in: .whitespaces)) }, uniquingKeysWith: { $1 })
  }

  private func environment(of pid: pid_t) throws -> [String: String] {
    let data = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/environ"))
    let pairs = data.split(separator: 0).map { String(decoding: $0, as: UTF8.self).split(separator: "=", maxSplits: 1) }
    return Dictionary(
      pairs.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }, uniquingKeysWith: { $1 })
  }

  /// The soft and the hard limit, as the kernel writes them.
  private func limit(_ name: String, of pid: pid_t) throws -> [String] {
    let text = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
    return Array(line.dropFirst(name.count).split(separator: " ").map(String.init).prefix(2))
  }

  @Test func aServiceThatAnAppStartsHasLimitsAndVariablesOfItsOwn() async throws {
    try await Home.run(Self.variables) { home in
      let app = try await home.start(in: Self.poorPlace)
      _ = try await app.tasks()
      let worker = try await home.service()
      let supervisor = try #require(home.processes().first { $0.role == .supervisor }?.pid)
      // The app is as poor as it was made to be: else there is nothing to see.
      #expect(try limit("Max open files", of: app.pid).first == "256")
      for pid in [worker, supervisor] {
        for name in ["Max open files", "Max file size", "Max cpu time"] {
          let limits = try limit(name, of: pid)
          #expect(limits.count == 2 && limits.first == limits.last, "\(name): \(limits)")
        }
        let status = try fields(of: pid, "status")
        let ignored = UInt64(try #require(status["SigIgn"]), radix: 16) ?? 0
        #expect(ignored & 1 << UInt64(SIGXFSZ - 1) != 0, "a file that gets too large ends the service")
        #expect(status["Umask"] == "0022", "\(status["Umask"] ?? "")")
        let variables = try environment(of: pid)
        #expect(variables["PATH"] == "/usr/local/bin:/usr/bin:/bin" && variables["LANG"] != Self.variables["LANG"])
        for name in ["LC_ALL", "TZ", "KRB5CCNAME", "TMPDIR", "SECRET_OF_THE_APP", "http_proxy"] {
          #expect(variables[name] == nil, "\(name) of the app")
        }
        #expect(variables["XDG_RUNTIME_DIR"] == home.path + "/run" && variables["HOME"] == home.path)
      }
      try await app.quit()
    }
  }

  /// The code that only the start needs is given back, and brought in again when it runs.
  @Test func aServiceThatRestsHoldsLittleOfItsCode() async throws {
    try await Home.run { home in
      let app = try await home.start()
      _ = try await app.tasks()
      let supervisor = try #require(home.processes().first { $0.role == .supervisor }?.pid)
      for pid in [try await home.service(), supervisor] {
        try await eventually("process \(pid) to give back memory") {
          guard let status = try? fields(of: pid, "status"), let most = kilobytes(status["VmHWM"]),
            let now = kilobytes(status["VmRSS"])
          else { return false }
          return now * 3 < most * 2
        }
      }
      #expect(try await app.tasks().isEmpty)
      try await app.quit()
    }
  }

  private func kilobytes(_ value: String?) -> Int? { value?.split(separator: " ").first.flatMap { Int($0) } }

  /// Servers are asked for the languages of the app, whichever app has started the service.
  @Test func aBackgroundRequestAsksForTheLanguagesOfItsApp() async throws {
    let file = FileResource(size: 1_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["LC_ALL": "", "LC_MESSAGES": "", "LANG": "de_CH.UTF-8", "LANGUAGE": "fr"]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      let fields = server.requests.map { $0.value("Accept-Language") }
      #expect(fields == ["fr,de-CH;q=0.9"])
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// Between a logout and the next login the user can't make the runtime folder again.
  @Test func aServiceIsReachedAndStartedWithoutARuntimeFolder() async throws {
    try await Home.run { home in
      let app = try await home.start()
      _ = try await app.tasks()
      let service = try await home.service()
      let runtime = home.path + "/run"
      #expect(rename(runtime, home.path + "/run-before") == 0)
      try Data().write(to: URL(fileURLWithPath: runtime))
      let other = try await home.start(home.makeProgram("other-app"))
      #expect(try await other.tasks().isEmpty)
      #expect(try await home.service() == service)
      for app in [app, other] { try await app.quit() }
      try await home.killServiceForGood()
      let late = try await home.start()
      #expect(try await late.tasks().isEmpty)
      let next = try await home.service()
      #expect(next != service)
      // At the next login there is one.
      #expect(unlink(runtime) == 0 && rename(home.path + "/run-before", runtime) == 0)
      try await eventually("the socket in the runtime folder") {
        UnixListener.isAnswered(runtime + "/urlsessiond/socket")
      }
      #expect(try await home.service() == next)
      try await late.quit()
    }
  }

  /// As one on a file system that is full, or can't be written any more.
  @Test func aServiceStartsWhereTheRuntimeFolderTakesNoFile() async throws {
    try await Home.run { home in
      let runtime = home.path + "/run/urlsessiond"
      try PrivateDirectory.ensure(runtime)
      // Folders in the places of the files: no mode keeps root from making one.
      let places = ["socket.supervisor", "socket.lock"].map { "\(runtime)/\($0)" }
      for place in places { try PrivateDirectory.ensure(place) }
      let app = try await home.start()
      #expect(try await app.tasks().isEmpty)
      let service = try await home.service()
      #expect(home.processes().contains { $0.role == .supervisor })
      #expect(!UnixListener.isAnswered(runtime + "/socket"))
      // The next one does not start beside it.
      try await home.startService()
      #expect(home.processes().filter { $0.role == .service }.map(\.pid) == [service])
      for place in places { #expect(rmdir(place) == 0) }
      try await eventually("the socket in the runtime folder") { UnixListener.isAnswered(runtime + "/socket") }
      #expect(try await home.service() == service)
      try await app.quit()
    }
  }
}
