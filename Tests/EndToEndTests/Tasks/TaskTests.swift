import Foundation
import LoopbackServer
import Testing
import TransferScript

/// Tasks over the deaths of those who deal with them.
@Suite(.fewAtATime) struct TaskTests {
  @Test func twentyAtOnceSixAtATime() async throws {
    struct Load: Sendable { var now = 0, most = 0, total = 0 }
    let file = FileResource(size: 50_000)
    let load = Monitor(Load())
    let server = try await LoopbackServer.start { request in
      load.update {
        $0.now += 1
        $0.total += 1
        $0.most = max($0.most, $0.now)
      }
      // Until six are here, or too few are left: if only five came at a time, this would never go on.
      _ = try await load.wait { $0.total >= 18 || $0.now >= 6 ? true : nil }
      load.update { $0.now -= 1 }
      return file.reply(to: request)
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", count: 20))
      try await home.log().waitFor(.didComplete, count: 20)
      for number in 1...20 { home.expectArrived("f-\(number)", file.version) }
      #expect(load.current.total == 20 && load.current.most == 6)
      #expect(server.connectionCount <= 6 && server.failures.isEmpty)
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aSuspendedTaskStaysSuspendedUntilItIsResumed() async throws {
    let file = FileResource(size: 8 << 20)
    file.update { $0.cuts = [.after(3 << 20, .stall)] }
    // A task is with the service from its first resume() on, so this one may run for a moment.
    let other = FileResource(size: 8 << 20)
    let gate = Gate()
    other.update { $0.pause = (1 << 20, gate) }
    let server = try await LoopbackServer.start { $0.path == "/g" ? other.reply(to: $0) : file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.download(url: server.url("/g").absoluteString, label: "g", startsSuspended: true))
      try await eventually("bytes") { file.bytesSent > 2 << 20 }
      try await app.tell(.suspend(label: "f"))
      try await server.expectNoOpenConnections()
      let answers = (file.served.count, other.served.count)
      let sent = (file.bytesSent, other.bytesSent)
      try await home.killService()
      // The new one is there, and has been told by the app whatever it had to be told.
      #expect(try await app.tasks().map(\.state) == [1, 1])
      try await app.kill9()
      try await home.killService()
      let second = try await home.start()
      let tasks = try await second.tasks()
      #expect(tasks.map(\.label) == ["f", "g"] && tasks.map(\.state) == [1, 1])
      #expect((file.served.count, other.served.count) == answers, "a suspended task loads")
      #expect((file.bytesSent, other.bytesSent) == sent, "a suspended task loads")
      gate.open()
      for label in ["f", "g"] {
        try await second.tell(.resume(label: label))
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
      }
      file.expectLittleLost()
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  @Test func aCancelledDownloadGoesOnInANewTask() async throws {
    let file = FileResource(size: 8 << 20)
    file.update { $0.cuts = [.after(3 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await eventually("bytes") { home.partialSize() >= 2 << 20 }
      try await app.tell(.continueAnew(label: "f", newLabel: "g"))
      try await home.log().waitFor(.didComplete, label: "f")
      try await home.log().waitFor(.didComplete, label: "g")
      home.expectArrived("g", file.version, status: 206)
      #expect(file.served.count == 2)
      #expect((file.served.last?.offset ?? 0) > 0, "it began at zero again")
      #expect(file.served.last?.ifRange == file.version.etag)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  /// The app says what it wants to a service that does not read it any more.
  @Test func wishesThatADyingServiceDidNotHearAreRepeated() async throws {
    let file = FileResource(size: 20 << 20)
    file.update { $0.bytesPerSecond = 1 << 20 }
    // The next service goes on with two of them until it hears that it must not.
    let slow = FileResource(size: 60 << 20)
    slow.update { $0.bytesPerSecond = 1 << 20 }
    let server = try await LoopbackServer.start {
      ["/suspended", "/cancelled"].contains($0.path) ? slow.reply(to: $0) : file.reply(to: $0)
    }
    try await Home.run { home in
      let app = try await home.start()
      for label in ["suspended", "cancelled", "resumed"] {
        try await app.tell(
          .download(url: server.url("/\(label)").absoluteString, label: label, startsSuspended: label == "resumed"))
      }
      try await app.tell(.flush)
      try await eventually("two answers") { slow.served.count >= 2 }
      let pid = try await home.service()
      kill(pid, SIGSTOP)
      try await app.tell(.suspend(label: "suspended"))
      try await app.tell(.cancel(label: "cancelled"))
      try await app.tell(.resume(label: "resumed"))
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "new"))
      file.update { $0.bytesPerSecond = nil }
      kill(pid, SIGKILL)
      let end = try await home.log().waitFor(.didComplete, label: "cancelled")
      #expect(end.error == URLError.Code.cancelled.rawValue)
      for label in ["resumed", "new"] {
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
      }
      #expect(try await app.tasks().map(\.label) == ["suspended"])
      #expect(home.log().count(.didComplete, label: "suspended") == 0)
      // The service, too, knows that it is suspended: a new app can learn it only there.
      try await app.quit()
      let served = slow.served.count
      try await home.killService()
      let second = try await home.start()
      #expect(try await second.tasks().map { "\($0.label ?? "") \($0.state)" } == ["suspended 1"])
      #expect(slow.served.count == served)
      slow.update { $0.bytesPerSecond = nil }
      try await second.tell(.resume(label: "suspended"))
      try await home.log().waitFor(.didComplete, label: "suspended")
      home.expectArrived("suspended", slow.version)
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  @Test func whatIsChangedAfterTheStartReachesTheService() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.tell(.describe(label: "f", newLabel: "g", priority: 0.75))
      try await app.tell(.flush)
      try await app.kill9()
      let second = try await home.start()
      let tasks = try await second.tasks()
      #expect(tasks.map(\.label) == ["g"] && tasks.map(\.priority) == [0.75])
      try await second.tell(.cancel(label: "g"))
      try await home.log().waitFor(.didComplete, label: "g")
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  @Test func cancellingAfterComingBack() async throws {
    let server = try await LoopbackServer.start { _ in
      Reply([.head(200, fields: [("Content-Length", "1000000"), ("ETag", "\"1\"")]), .body("begin"), .stall])
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      _ = try await server.nextRequest()
      try await app.kill9()
      let second = try await home.start()
      try await second.tell(.cancel(label: "f"))
      let end = try await home.log().waitFor(.didComplete, label: "f")
      #expect(end.error == URLError.Code.cancelled.rawValue && end.process == second.pid)
      #expect(home.log().count(.didFinishDownloading) == 0)
      #expect(try await second.tasks().isEmpty)
      try await server.expectNoOpenConnections()
      try await home.log().waitFor(.didFinishEvents)
      try await home.expectNothingKept()
      try await second.quit()
      #expect(home.log().launches == 0)
    }
    await server.shutdown()
  }

  @Test func aSecondProcessIsTurnedAway() async throws {
    let file = FileResource(size: 100_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      let second = try await home.start()
      try await second.tell(.download(url: server.url("/f").absoluteString, label: "g"))
      // NSURLErrorBackgroundSessionInUseByAnotherProcess. The task was made while that became known: it fails for the
      // same reason, or the session has ended before and tells nothing any more.
      let invalid = try await home.log().waitFor(.didBecomeInvalid)
      #expect(invalid.error == -996 && invalid.process == second.pid)
      #expect(home.log().entries.allSatisfy { $0.kind != .didComplete || $0.error == -996 })
      #expect(server.heads.count <= 1)
      // The first one is not disturbed.
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(home.log().entries.last { $0.label == "f" }?.process == app.pid)
      try await second.quit()
      try await app.quit()
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  @Test func twoAppsWithTheSameIdentifierNeverMeet() async throws {
    let file = FileResource(size: 100_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run { home in
      let other = try home.makeProgram("other-app")
      let one = try await home.start()
      let two = try await home.start(other)
      try await one.tell(.download(url: server.url("/one").absoluteString, label: "one", count: 3))
      try await two.tell(.download(url: server.url("/two").absoluteString, label: "two", count: 2))
      #expect(try await one.tasks().map(\.label) == ["one-1", "one-2", "one-3"])
      #expect(try await two.tasks().map(\.label) == ["two-1", "two-2"])
      try await two.tell(.flush)
      try await two.kill9()
      gate.open()
      try await home.log().waitFor(.didComplete, count: 3)
      try await home.log("other-app").waitFor(.launchHandled)
      for number in 1...3 { home.expectArrived("one-\(number)", file.version) }
      for number in 1...2 { home.expectArrived("two-\(number)", file.version, program: "other-app") }
      let labels = { (program: String) in Set(home.log(program).entries.compactMap(\.label).map { $0.prefix(3) }) }
      #expect(labels("transfer-app") == ["one"] && labels("other-app") == ["two"])
      #expect(home.log().launches == 0 && home.log("other-app").launches == 1)
      try await home.expectNothingKept()
      try await one.quit()
    }
    await server.shutdown()
  }

  @Test func allTasksAfterARelaunchAreThoseThatAreNotOver() async throws {
    let file = FileResource(size: 100_000)
    let server = try await LoopbackServer.start { request in
      request.path == "/done" ? file.reply(to: request) : .never
    }
    try await Home.run { home in
      try home.plan { $0.faults = [AppFault(.afterMove, .crash)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/a?b=c").absoluteString, label: "ünï \"1\"", mark: "m 1"))
      try await app.tell(.download(url: server.url("/held").absoluteString, label: "held", startsSuspended: true))
      try await app.tell(.flush)
      let identifiers = try await app.tasks().map(\.identifier)
      try #require(identifiers.count == 2)
      // Not waited for: the app crashes as soon as it has the file, which may be before it says that the task is made.
      try app.say(.download(url: server.url("/done").absoluteString, label: "done"))
      try await app.waitForEnd()
      let second = try await home.start()
      try await home.log().waitFor(.didComplete, label: "done")
      home.expectArrived("done", file.version)
      let tasks = try await second.tasks()
      #expect(
        tasks.map { "\($0.identifier) \($0.label ?? "") \($0.url ?? "") \($0.mark ?? "-") \($0.state)" } == [
          "\(identifiers[0]) ünï \"1\" \(server.url("/a?b=c")) m 1 0",
          "\(identifiers[1]) held \(server.url("/held")) - 1",
        ])
      // New tasks do not take the identifiers of old ones.
      try await second.tell(.download(url: server.url("/done").absoluteString, label: "next"))
      try await home.log().waitFor(.didComplete, label: "next")
      #expect(try #require(home.log().task("next")) > #require(home.log().task("done")))
      try await second.tell(.invalidateAndCancel)
      try await home.log().waitFor(.didBecomeInvalid)
      #expect(home.log().entries.last { $0.label == "held" }?.error == URLError.Code.cancelled.rawValue)
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  @Test func tenThousandAreAllStillThere() async throws {
    let count = 10_000
    let server = try await LoopbackServer.start { _ in .never }
    try await Home.run { home in
      let app = try await home.start()
      let made = try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", count: count))
      let safe = try await app.tell(.flush)
      print("\(count) tasks: made in \(made.seconds ?? 0) s, safe with the service \(safe.seconds ?? 0) s later")
      try await home.killService()
      let began = ContinuousClock.now
      let before = try await app.tasks()
      try await app.kill9()
      try await home.killEverything()
      let second = try await home.start()
      let after = try await second.tasks()
      print("listed by the app that stayed and by one that came back: \(ContinuousClock.now - began)")
      for tasks in [before, after] {
        #expect(tasks.count == count)
        #expect(tasks.map(\.label) == (1...count).map { "f-\($0)" })
        let first = try #require(before.first?.identifier)
        #expect(tasks.map(\.identifier) == Array(first..<first + count))
        #expect(tasks.allSatisfy { $0.state == 0 })
      }
      // They are not only listed: the service works on them.
      try await server.waitForOpenConnections(6)
      try await second.quit()
    }
    await server.shutdown()
  }
}
