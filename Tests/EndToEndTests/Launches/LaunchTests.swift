import Foundation
import LoopbackServer
import Testing
import TransferScript

/// When the service starts an app, and when it does not.
@Suite(.fewAtATime) struct LaunchTests {
  @Test func onceForAllTasksWithTheirEventsInOrder() async throws {
    let file = FileResource(size: 200_000)
    let gate = Gate()
    let last = Gate()
    let server = try await LoopbackServer.start { request in
      file.reply(to: request).preceded(by: [.waitFor(request.path == "/last" ? last : gate)])
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/last").absoluteString, label: "last"))
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", count: 8))
      try await app.tell(.download(url: "http://127.0.0.1:1/", label: "held", startsSuspended: true))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      // Eight are over: not yet a reason to start the app, since another is still running.
      try await eventually("eight files") { home.transferFiles().count { $0.hasPrefix("complete") } == 8 }
      #expect(home.log().launches == 0)
      last.open()
      try await home.log().waitFor(.launchHandled)
      for label in ["last"] + (1...8).map({ "f-\($0)" }) { home.expectArrived(label, file.version) }
      let heard = home.log().entries.filter { $0.process != app.pid }
      // One process, told of everything, of its end last; a suspended task is not waited for.
      #expect(heard.count { $0.kind == .started } == 1)
      #expect(heard.first?.session == "end-to-end")
      #expect(heard.suffix(2).map(\.kind) == [.didFinishEvents, .launchHandled])
      #expect(heard.count { $0.kind == .didComplete } == 9 && heard.count { $0.kind == .didFinishEvents } == 1)
      // It said that it was done: the service has no reason to start it again, also not in another life.
      try await eventually("the end of the app") { !home.processes().contains { $0.program == "transfer-app" } }
      try await home.killService()
      try await home.service()
      let user = try await home.start()
      #expect(try await user.tasks().map(\.label) == ["held"])
      #expect(home.log().launches == 1)
      try await user.tell(.cancel(label: "held"))
      try await home.log().waitFor(.didComplete, label: "held")
      try await home.expectNothingKept()
      try await user.quit()
    }
    await server.shutdown()
  }

  @Test func anAppThatDoesNotWantToBeStarted() async throws {
    let file = FileResource(size: 200_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0", "URLSESSIOND_IDLE_EXIT": "0.5"]) { home in
      try home.plan { $0.sendsLaunchEvents = false }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      // The file is there, and no app has to be told, so there is nothing to do.
      try await eventually("the end of the service") { home.processes().isEmpty }
      #expect(home.log().launches == 0 && home.transferFiles().contains { $0.hasPrefix("complete/") })
      // Until its user starts it.
      let second = try await home.start()
      try await home.log().waitFor(.didFinishEvents)
      home.expectArrived("f", file.version)
      #expect(home.log().launches == 0 && file.served.count == 1)
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  @Test func anAppThatCrashesIsStartedAgainLaterAndLater() async throws {
    let file = FileResource(size: 200_000)
    let slow = FileResource(size: 6 << 20)
    slow.update { $0.bytesPerSecond = 3 << 20 }
    let gate = Gate()
    let server = try await LoopbackServer.start { request in
      request.path == "/slow" ? slow.reply(to: request) : file.reply(to: request).preceded(by: [.waitFor(gate)])
    }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0", "URLSESSIOND_LAUNCH_WAIT": "0.2"]) { home in
      try home.plan { $0.faults = [AppFault(.launch, .crash, times: 4)] }
      // Another app, whose transfers go on whatever becomes of this one.
      let other = try await home.start(home.makeProgram("other-app"))
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      var moments: [Duration] = []
      try await other.tell(.download(url: server.url("/slow").absoluteString, label: "slow"))
      let opened = ContinuousClock.now
      gate.open()
      for launch in 1...5 {
        try await eventually("launch \(launch)") { home.log().launches >= launch }
        moments.append(.now - opened)
      }
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version)
      try await home.log("other-app").waitFor(.didComplete, label: "slow")
      home.expectArrived("slow", slow.version, program: "other-app")
      #expect(slow.served.count == 1 && home.log().launches == 5)
      // After waits of 0.2, 0.4, 0.8 and 1.6 s. A launch may be seen late, never early.
      for (moment, least) in zip(moments.dropFirst(), [0.2, 0.6, 1.4, 3]) {
        #expect(moment >= .seconds(least), "\(moments)")
      }
      try await home.expectNothingKept()
      try await other.quit()
    }
    await server.shutdown()
  }

  /// Saying that one is done is not enough when the events were not taken: there would be launches without end.
  @Test func anAppThatSaysItIsDoneAndIsNot() async throws {
    let file = FileResource(size: 200_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0", "URLSESSIOND_LAUNCH_WAIT": "1"]) { home in
      try home.plan { $0.faults = [AppFault(.inHandleEvents, .sayDoneAndExit, times: 2)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      let opened = ContinuousClock.now
      gate.open()
      try await home.log().waitFor(.launchHandled, count: 3)
      // 1 s, then 2 s.
      #expect(ContinuousClock.now - opened >= .seconds(3))
      home.expectArrived("f", file.version)
      #expect(home.log().launches == 3)
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  @Test func theServiceEndsWhenNothingIsToDoAndTheNextAppStartsIt() async throws {
    let file = FileResource(size: 200_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_IDLE_EXIT": "0.3"]) { home in
      for round in 1...2 {
        let app = try await home.start()
        try await app.tell(.download(url: server.url("/f").absoluteString, label: "f\(round)"))
        try await home.log().waitFor(.didComplete, label: "f\(round)")
        home.expectArrived("f\(round)", file.version)
        let service = try await home.service()
        try await home.expectNothingKept()
        try await app.quit()
        try await eventually("the end of the service") { home.processes().isEmpty }
        #expect(kill(service, 0) == -1)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/run/urlsessiond/socket"))
      }
      #expect(home.log().launches == 0)
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The process that was started has heard everything but the end of it.
  @Test func theServiceDiesWhileTheAppHandlesItsEvents() async throws {
    let file = FileResource(size: 200_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(["URLSESSIOND_LAUNCH_WAIT": "0.5"]) { home in
      try home.plan { $0.faults = [AppFault(.inDidComplete, .hold)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      try await home.log().waitFor(.didComplete, label: "f")
      try await home.killServiceForGood()
      try home.go()
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version)
      #expect(home.log().launches == 1 && home.log().count(.didFinishEvents) == 1)
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  /// A process that was started for events that another one of its app handles ends, whether or not it gets the session.
  @Test(arguments: [true, false]) func anotherProcessHandlesTheEvents(andLives: Bool) async throws {
    let file = FileResource(size: 200_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run { home in
      try home.plan { $0.faults = [AppFault(.inHandleEvents, .hold)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      try await eventually("a start of the app") { home.log().launches == 1 }
      // The next service knows of no start that is under way.
      try await home.killServiceForGood()
      let user = try await home.start()
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      try await home.expectNothingKept()
      if !andLives { try await user.quit() }
      try home.go()
      try await home.log().waitFor(.launchHandled)
      let last: AppEntry.Kind = andLives ? .didBecomeInvalid : .didFinishEvents
      #expect(home.log().entries.filter { $0.process != user.pid }.suffix(2).map(\.kind) == [last, .launchHandled])
      try await eventually("the end of the process that was started") {
        home.processes().filter { $0.program == "transfer-app" }.map(\.pid) == (andLives ? [user.pid] : [])
      }
      if andLives { try await user.quit() }
    }
    await server.shutdown()
  }
}
