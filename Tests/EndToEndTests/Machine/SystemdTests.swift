import ChildProcess
import Foundation
import LoopbackServer
import RealServers
import Testing
import TransferScript

/// The installed units, under a real service manager.
@Suite(.fewAtATime, .enabled(if: UserManager.obstacle == nil, "\(UserManager.obstacle ?? "")"))
struct SystemdTests {
  private func withManager(
    settings: String = "", _ test: (Home, UserManager) async throws -> Void
  ) async throws {
    try await Home.run { home in
      let manager = try await UserManager(home, settings: settings)
      do {
        try await test(home, manager)
      } catch {
        try? await manager.stop()
        throw error
      }
      try await manager.stop()
    }
  }

  /// Downloads a file of which the first answer ends where the service is then disturbed.
  private func download(
    _ home: Home, _ manager: UserManager, disturb: (pid_t) async throws -> Void
  ) async throws {
    let file = FileResource(size: 12 << 20)
    file.update { $0.cuts = [.after(10 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    let app = try await home.start()
    try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
    try await eventually("bytes") { home.partialSize() >= 9 << 20 }
    let first = try await manager.service()
    try await disturb(first)
    try await home.log().waitFor(.didComplete, label: "f")
    home.expectArrived("f", file.version)
    file.expectLittleLost()
    #expect(try await manager.service() != first)
    #expect(!home.processes().contains { $0.role == .supervisor }, "an app started a service beside the manager's")
    try await home.expectNothingKept()
    try await app.quit()
    await server.shutdown()
  }

  @Test func theSocketStartsTheServiceUnderTheRulesOfItsUnit() async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await withManager { home, manager in
      #expect(try await manager.tell("enable", "urlsessiond.socket").status == 0)
      // Not `enable --now`, which starts nothing on a machine that systemd did not start.
      #expect(try await manager.tell("start", "urlsessiond.socket").status == 0)
      #expect(try await manager.property("ActiveState") == "inactive")
      let socket = try FileManager.default.attributesOfItem(atPath: home.path + "/run/urlsessiond/socket")
      #expect(socket[.posixPermissions] as? Int == 0o600)
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      try await home.expectNothingKept()
      let pid = try await manager.service()
      #expect(home.processes().filter { $0.role != .other }.map(\.pid) == [pid])
      let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
      #expect(status.contains("NoNewPrivs:\t1\n") && status.contains("Seccomp:\t2\n"))
      try await app.quit()
      #expect(try await manager.tell("stop", "urlsessiond.service").status == 0)
      #expect(try await manager.property("Result") == "success")
      // The socket is the manager's, and waits for the next app.
      #expect(FileManager.default.fileExists(atPath: home.path + "/run/urlsessiond/socket"))
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aServiceThatIsKilledIsStartedAgain() async throws {
    try await withManager { home, manager in
      #expect(try await manager.tell("start", "urlsessiond.socket", "urlsessiond.service").status == 0)
      try await download(home, manager) { kill($0, SIGKILL) }
    }
  }

  /// systemd gives a unit up after five starts within ten seconds where it is not told otherwise. No app asks here.
  @Test func aServiceThatIsKilledManyTimesIsStartedAgain() async throws {
    try await withManager { home, manager in
      #expect(try await manager.tell("start", "urlsessiond.socket", "urlsessiond.service").status == 0)
      #expect(try await manager.property("StartLimitIntervalUSec") == "0")
      var pid = try await manager.service()
      for _ in 0..<7 {
        kill(pid, SIGKILL)
        pid = try await manager.service(otherThan: pid)
      }
      #expect(try await manager.property("NRestarts") == "7")
    }
  }

  /// No app asks: the manager alone misses the signs of life.
  @Test func aServiceThatHangsIsReplacedByTheManager() async throws {
    // The library that writes down where a program was aborted would take longer than the rest.
    try await withManager(settings: "WatchdogSec=3s\nEnvironment=SWIFT_BACKTRACE=enable=no") { home, manager in
      #expect(try await manager.tell("start", "urlsessiond.socket", "urlsessiond.service").status == 0)
      try await download(home, manager) { hanging in
        try await HomeProcess.stop(hanging)
        try await eventually("the end of the service that hangs") { kill(hanging, 0) == -1 }
      }
      // Nothing else ends a process that is stopped.
      #expect(try await manager.property("NRestarts") != "0")
    }
  }

  private func group(of pid: pid_t) throws -> String {
    try String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8).split(separator: "\n")
      .first { $0.hasPrefix("0::") }.map(String.init) ?? ""
  }

  @Test(.enabled(if: UserManager.obstacleToApps == nil, "\(UserManager.obstacleToApps ?? "")"))
  func aServiceOutlivesTheUnitOfItsApp() async throws {
    let file = FileResource(size: 1 << 20)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await withManager { home, manager in
      try await manager.startMessageBus()
      try home.plan { $0.sendsLaunchEvents = false }
      // The manager's socket is not started: the app starts the service.
      let app = try await home.start(in: UserManager.unit("app-e2e.scope"))
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      _ = try await server.nextRequest()
      let processes = home.processes().filter { $0.role != .other }.map(\.pid)
      #expect(processes.count == 2, "a supervisor and a worker")
      #expect(try await manager.property("ActiveState") == "inactive")
      #expect(try group(of: app.pid).hasSuffix("/app-e2e.scope"))
      let log = try String(contentsOfFile: "\(home.stateFolder)/urlsessiond.log", encoding: .utf8)
      for process in processes {
        let name = try group(of: process)
        #expect(name.contains("/urlsessiond-") && !name.contains("app-e2e"), "\(name) \(log)")
      }
      #expect(try await manager.tell("stop", "app-e2e.scope").status == 0)
      try await app.waitForEnd()
      #expect(home.processes().filter { $0.role != .other }.map(\.pid) == processes)
      gate.open()
      let fresh = try await home.start()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(file.served.count == 1, "the transfer was interrupted")
      try await home.expectNothingKept()
      try await fresh.quit()
    }
    await server.shutdown()
  }
}

/// What systemd thinks of the units without running them.
@Suite struct UnitFileTests {
  private static let tool = InstalledServer(program: UserManager.analyze, package: "systemd")

  @Test(.enabled(if: tool.runsHere, "\(tool.advice)")) func theUnitsAreWithoutFault() async throws {
    let folder = NSTemporaryDirectory() + "units-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try UserManager.writeUnits(to: folder, prefix: folder + "/prefix")
    let run = try await ProgramRun.run(
      Self.tool.path(),
      ["verify", "--user", "--man=no", folder + "/urlsessiond.service", folder + "/urlsessiond.socket"],
      environment: ["SYSTEMD_UNIT_PATH": folder + ":/usr/lib/systemd/user", "XDG_RUNTIME_DIR": folder])
    #expect(run.status == 0 && run.errors == "" && run.output == "")
  }
}
