import ChildProcess
import Foundation
import LoopbackServer
import Testing
import TransferScript

/// The service hangs, or does not come for a while.
@Suite(.fewAtATime) struct ServiceHangTests {
  /// Short ticks of the supervisor, and little patience of the app.
  private static let impatience = ["URLSESSIOND_ANSWER_WAIT": "0.5", "URLSESSIOND_REQUEST_WAIT": "2"]

  @Test func aWorkerThatHangsIsReplaced() async throws {
    let file = FileResource(size: 3 << 20)
    file.update { $0.cuts = [.after(1 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_ANSWER_WAIT": "0.5"]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await eventually("bytes") { file.bytesSent > 512 << 10 }
      let hanging = try await home.service()
      try await HomeProcess.stop(hanging)
      // Neither the transfer nor the app waits for ever.
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      try await app.tell(.flush)
      for label in ["f", "g"] {
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
      }
      #expect(kill(hanging, 0) == -1, "it still hangs")
      #expect(home.log().launches == 0)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// The supervisor does not ask a worker that has nothing to do; the app that gets no answer has it asked.
  @Test func aWorkerThatHangsWithNothingToDoIsReplacedOnceItIsNeeded() async throws {
    try await expectReplacement(of: Self.impatience)
  }

  /// The user has used up the kernel's watchers, so the supervisor is not told of the app.
  @Test(.enabled(if: Namespaces.obstacleToMissingWatchers == nil, "\(Namespaces.obstacleToMissingWatchers ?? "")"))
  func aWorkerThatHangsIsReplacedWithoutWatchersToo() async throws {
    try await expectReplacement(of: Self.impatience, in: Namespaces.withoutWatchers)
  }

  /// No process watches it any more: the next supervisor finds it.
  @Test func aWorkerThatHangsWithoutItsSupervisorIsReplaced() async throws {
    let file = FileResource(size: 3 << 20)
    file.update { $0.cuts = [.after(1 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(Self.impatience) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await eventually("bytes") { file.bytesSent > 512 << 10 }
      let hanging = try await home.service()
      try await home.killSupervisor()
      try await HomeProcess.stop(hanging)
      // The one that is not of its folder leaves it alone.
      try await home.startService("--state-dir", home.path + "/state/other")
      #expect(home.processes().contains { $0.pid == hanging })
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      try await app.tell(.flush)
      for label in ["f", "g"] {
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
      }
      #expect(!home.processes().contains { $0.pid == hanging }, "it still hangs")
      #expect(home.serviceLog.contains("process \(hanging) has no supervisor and did not answer"))
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// It moves its bytes, and answers.
  @Test func aWorkerWithoutItsSupervisorThatIsWellStays() async throws {
    let file = FileResource(size: 3 << 20)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_ANSWER_WAIT": "5"]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      let service = try await home.service()
      try await home.killSupervisor()
      try await home.startService()
      #expect(home.processes().filter { $0.role != .other }.map(\.pid) == [service])
      #expect(home.serviceLog.contains("not needed"))
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(file.served.count == 1)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  private func expectReplacement(of variables: [String: String], in place: [String] = []) async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(variables) { home in
      let app = try await home.start(in: place)
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      try await home.expectNothingKept()
      #expect(home.serviceLog.contains("no more watchers") == !place.isEmpty)
      let hanging = try await home.service()
      try await HomeProcess.stop(hanging)
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      try await app.tell(.flush)
      try await home.log().waitFor(.didComplete, label: "g")
      home.expectArrived("g", file.version)
      #expect(kill(hanging, 0) == -1, "it still hangs")
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// Only the supervisor was stopped: its worker is well.
  @Test func aSupervisorThatWasStoppedKillsNoWorker() async throws {
    let file = FileResource(size: 3 << 20)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_ANSWER_WAIT": "0.1"]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      let service = try await home.service()
      let supervisor = try #require(home.processes().first { $0.role == .supervisor }?.pid)
      for _ in 1...2 {
        kill(supervisor, SIGSTOP)
        // Longer than a worker may take for an answer.
        let end = ContinuousClock.now + .milliseconds(400)
        try await eventually("the time of an answer to pass") { ContinuousClock.now > end }
        kill(supervisor, SIGCONT)
      }
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(try await home.service() == service && file.served.count == 1)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  @Test func aWorkerThatHangsEndsWithItsSupervisor() async throws {
    try await Home.run(Self.impatience) { home in
      let app = try await home.start()
      _ = try await app.tasks()
      let hanging = try await home.service()
      let supervisor = try #require(home.processes().first { $0.role == .supervisor }?.pid)
      try await app.quit()
      try await HomeProcess.stop(hanging)
      kill(supervisor, SIGTERM)
      try await eventually("the end of both") { home.processes().isEmpty }
    }
  }

  /// The supervisor makes long pauses by then. The app that needs the service does not wait for their end.
  @Test func aFreshProcessFindsTheServiceAfterManyKills() async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      // Suspended: a transfer that runs while the service is killed three times would be set aside.
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", startsSuspended: true))
      try await app.tell(.flush)
      try await app.kill9()
      for _ in 1...8 {
        let killed = try await home.killService()
        try await eventually("the next service") {
          // Again and again: a call that comes before the supervisor has seen the end shortens no pause.
          home.callForService()
          return home.processes().contains { $0.role == .service && $0.pid != killed }
        }
      }
      try await home.killService()
      let began = ContinuousClock.now
      let fresh = try await home.start()
      #expect(try await fresh.tasks().map(\.label) == ["f"])
      #expect(ContinuousClock.now - began < .seconds(10), "it waited for the end of a pause")
      try await fresh.tell(.resume(label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      try await home.expectNothingKept()
      try await fresh.quit()
    }
    await server.shutdown()
  }

  /// Supervisor and worker die while a fresh process waits for them to listen.
  @Test(arguments: 1...3) func aServiceThatDiesWhileItStartsIsStartedAgain(round: Int) async throws {
    try await Home.run { home in
      let app = try await home.start()
      for _ in 1...round {
        try await eventually("a service") { home.processes().contains { $0.role != .other } }
        for process in home.processes() where process.role != .other { kill(process.pid, SIGKILL) }
      }
      let began = ContinuousClock.now
      #expect(try await app.tasks().isEmpty)
      #expect(ContinuousClock.now - began < .seconds(8), "it waited for a service that is gone")
      try await app.quit()
    }
  }
}
