import Foundation
import LoopbackServer
import Testing
import TransferScript

/// The service dies, at every step of a transfer.
@Suite(.fewAtATime) struct ServiceKillTests {
  static let failpoints = [
    "beforeFirstByte", "midBody", "afterLastByteBeforeRename", "afterRenameBeforeEvent",
    "afterEventBeforeAcknowledgement",
  ]

  /// 16 MiB in about a second: the 8 MiB that may be lost make a difference.
  private func file() -> FileResource {
    let file = FileResource(size: 16 << 20)
    file.update { $0.bytesPerSecond = 16 << 20 }
    return file
  }

  @Test(arguments: failpoints) func theAppStaysAndHearsEverythingOnce(failpoint: String) async throws {
    let file = file()
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_CRASH_AT": failpoint]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(FileManager.default.fileExists(atPath: "\(home.stateFolder)/crashed-\(failpoint)"), "it did not crash")
      file.expectLittleLost()
      try await home.expectNothingKept()
      #expect(try await app.tasks().isEmpty)
      #expect(home.log().launches == 0)
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A disk that can't be read when the next service starts, for example. The folder has the place of the queue's log.
  @Test func aServiceThatCannotOpenItsQueueGoesOnOnceItCan() async throws {
    let file = file()
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      let service = try await home.service()
      try await HomeProcess.stop(service)
      let log = home.stateFolder + "/queue.sqlite-wal"
      // The last changes of the queue are in it.
      #expect(rename(log, home.path + "/kept") == 0 && mkdir(log, 0o700) == 0)
      kill(service, SIGKILL)
      let next = try await home.service(otherThan: service)
      try await eventually("the reason in the log") {
        home.serviceLog.contains("the service waits for its storage: The queue of the transfer service")
      }
      let second = try await home.start(home.makeProgram("other-app"))
      #expect(rmdir(log) == 0 && rename(home.path + "/kept", log) == 0)
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      // The same process goes on.
      #expect(try await home.service() == next)
      #expect(home.log().launches == 0)
      try await home.expectNothingKept()
      #expect(try await second.tasks().isEmpty)
      for app in [app, second] { try await app.quit() }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A person tidies up between two copies of the queue, and nothing has arrived yet.
  @Test func aTaskWithoutBytesOutlivesTheFileOfTheQueue() async throws {
    let file = file()
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", mark: "kept"))
      try await app.tell(.flush)
      try await home.killEverything()
      let state = try FileManager.default.contentsOfDirectory(atPath: home.stateFolder)
      #expect(!state.contains("queue-copy.sqlite"), "there is a copy, and the test shows nothing")
      for name in state where name.hasPrefix("queue") {
        try FileManager.default.removeItem(atPath: "\(home.stateFolder)/\(name)")
      }
      let fresh = try await home.start()
      #expect(try await fresh.tasks().map(\.label) == ["f"])
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      try await home.expectNothingKept()
      try await fresh.quit()
    }
    await server.shutdown()
  }

  /// The service died before it had heard that the session is over: the next one hears it.
  @Test func anInvalidationIsNotLostWithItsConnection() async throws {
    try await Home.run { home in
      let app = try await home.start()
      _ = try await app.tasks()
      let stopped = try await home.service()
      kill(stopped, SIGSTOP)
      try await app.tell(.invalidateAndCancel)
      try await home.log().waitFor(.didBecomeInvalid)
      try await home.killServiceForGood()
      // Only the app can start it now.
      try await home.service(otherThan: stopped)
      try await app.quit()
    }
  }

  @Test(arguments: failpoints) func theAppIsGoneAndIsStartedForItsEvents(failpoint: String) async throws {
    let file = file()
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_CRASH_AT": failpoint, "URLSESSIOND_LAUNCH_GRACE": "0.2"]) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version)
      #expect(FileManager.default.fileExists(atPath: "\(home.stateFolder)/crashed-\(failpoint)"), "it did not crash")
      file.expectLittleLost()
      try await home.expectNothingKept()
      let heard = home.log().entries.filter { $0.process != app.pid }
      #expect(heard.first?.kind == .started && heard.first?.session == "end-to-end")
      #expect(heard.suffix(2).map(\.kind) == [.didFinishEvents, .launchHandled])
      #expect(home.log().launches == 1)
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func fiveTimesInOneTransfer() async throws {
    let file = FileResource(size: 64 << 20)
    // Each life gets some of it, and then waits to be killed.
    file.update { $0.cuts = Array(repeating: .after(10 << 20, .stall), count: 5) }
    let small = FileResource(size: 1_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { request in
      if request.path == "/g" { return small.reply(to: request) }
      let reply = file.reply(to: request)
      return file.served.count > 5 ? reply.preceded(by: [.waitFor(gate)]) : reply
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      for kills in 1...5 {
        try await eventually("try \(kills) to bring bytes") {
          file.served.count >= kills && home.partialSize() >= file.served[kills - 1].offset + 9 << 20
        }
        try await home.killService()
      }
      // Once the app has found the last service, which it has when a new task is safe there, it hears what that one does.
      try await app.tell(.download(url: server.url("/g").absoluteString, label: "g"))
      try await app.tell(.flush)
      gate.open()
      try await home.log().waitFor(.didComplete, label: "g")
      home.expectArrived("g", small.version)
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      file.expectLittleLost()
      #expect(file.served.count >= 6)
      #expect(home.log().count(.didResumeAtOffset) > 0)
      #expect(home.log().launches == 0)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// Nothing watches over the service any more: the app that needs it starts it.
  @Test func withItsSupervisorAndTheAppStartsItAgain() async throws {
    let file = file()
    file.update { $0.cuts = [.after(3 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await eventually("bytes") { file.bytesSent > 2 << 20 }
      try await home.killServiceForGood()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      file.expectLittleLost()
      // The same app goes on with new tasks, and their identifiers go on, too.
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      try await home.log().waitFor(.didComplete, label: "g")
      home.expectArrived("g", file.version)
      let (first, next) = (home.log().task("f"), home.log().task("g"))
      #expect(try #require(next) == #require(first) + 1)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  @Test func togetherWithTheAppAsInAPowerFailure() async throws {
    let file = file()
    file.update { $0.cuts = [.after(11 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await eventually("more bytes than may be lost") { home.partialSize() >= 10 << 20 }
      try await home.killEverything()
      let served = file.served.count
      // The user starts the app again: it need not do anything but be there.
      let second = try await home.start()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      file.expectLittleLost()
      #expect(file.served.count == served + 1)
      let heard = home.log().entries.filter { $0.process == second.pid && $0.label == "f" }
      #expect((file.served.last?.offset ?? 0) > 0)
      #expect(heard.last?.kind == .didComplete)
      try await home.log().waitFor(.didFinishEvents)
      try await home.expectNothingKept()
      #expect(home.log().launches == 0)
      try await second.quit()
    }
    await server.shutdown()
  }

  /// The app has heard everything when the service dies, but the service does not know that yet.
  @Test func beforeTheAcknowledgementReachesIt() async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      try home.plan { $0.faults = [AppFault(.inDidComplete, .hold)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      let killed = try await home.killService()
      try await home.service(otherThan: killed)
      try home.go()
      try await home.expectNothingKept()
      // Told once, and no task of that name comes back.
      home.expectArrived("f", file.version)
      #expect(try await app.tasks().isEmpty)
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      try await home.log().waitFor(.didComplete, label: "g")
      home.expectArrived("g", file.version)
      try await home.expectNothingKept()
      try await app.quit()
      let second = try await home.start()
      #expect(try await second.tasks().isEmpty)
      home.expectArrived("f", file.version)
      try await second.quit()
    }
    await server.shutdown()
  }
}
