import Foundation
import LoopbackServer
import Testing
import TransferScript

/// The app dies, before, in and after each call of its delegate.
@Suite(.fewAtATime) struct AppKillTests {
  private static let launchesSoon = ["URLSESSIOND_LAUNCH_WAIT": "0.2", "URLSESSIOND_LAUNCH_GRACE": "0"]

  /// In the app that the user started.
  @Test(arguments: [(AppFault.Moment.beforeMove, 1), (.afterMove, 1), (.inDidComplete, 2)])
  func inACallOfTheFirstProcess(moment: AppFault.Moment, told: Int) async throws {
    let file = FileResource(size: 300_000)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(Self.launchesSoon) { home in
      try home.plan { $0.faults = [AppFault(moment, .crash)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.waitForEnd()
      try await home.log().waitFor(.launchHandled)
      // What the first process had heard and not acknowledged was told again, from the file on.
      home.expectArrived("f", file.version, times: told)
      #expect(home.log().count(.didFinishDownloading) == 2)
      #expect(file.served.count == 1, "the bytes travelled again")
      #expect(home.log().launches == 1)
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  /// In the process that was started for the events; the next one has to wait its turn.
  @Test(arguments: [
    AppFault.Moment.launch, .inHandleEvents, .beforeMove, .afterMove, .inDidComplete, .inDidFinishEvents,
  ])
  func inACallOfTheLaunchedProcess(moment: AppFault.Moment) async throws {
    let file = FileResource(size: 300_000)
    let gate = Gate()
    let server = try await LoopbackServer.start { file.reply(to: $0).preceded(by: [.waitFor(gate)]) }
    try await Home.run(Self.launchesSoon) { home in
      try home.plan { $0.faults = [AppFault(moment, .crash)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await app.kill9()
      gate.open()
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version, times: moment == .inDidComplete ? 2 : 1)
      #expect(home.log().launches == 2)
      #expect(home.log().entries.suffix(2).map(\.kind) == [.didFinishEvents, .launchHandled])
      #expect(home.log().count(.didFinishEvents) == (moment == .inDidFinishEvents ? 2 : 1))
      #expect(file.served.count == 1)
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  /// The user starts it again before the transfer is over: it finds its task, and is not started a second time.
  @Test func whileBytesArriveAndItsUserStartsItAgain() async throws {
    let file = FileResource(size: 8 << 20)
    let gate = Gate()
    file.update { $0.pause = (2 << 20, gate) }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(Self.launchesSoon) { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f", mark: "kept"))
      try await app.tell(.flush)
      try await eventually("bytes") { file.bytesSent > 1 << 20 }
      let identifiers = try await app.tasks().map(\.identifier)
      try await app.kill9()
      let second = try await home.start()
      let tasks = try await second.tasks()
      #expect(tasks.map(\.label) == ["f"] && tasks.map(\.identifier) == identifiers && tasks.map(\.mark) == ["kept"])
      #expect(tasks.map(\.url) == [server.url("/f").absoluteString] && tasks.map(\.state) == [0])
      gate.open()
      try await home.log().waitFor(.didFinishEvents)
      home.expectArrived("f", file.version)
      #expect(home.log().entries.filter { $0.kind == .didComplete }.map(\.process) == [second.pid])
      #expect(file.served.count == 1 && home.log().launches == 0)
      // It is over, so it is no task any more.
      #expect(try await second.tasks().isEmpty)
      try await home.expectNothingKept()
      try await second.quit()
    }
    await server.shutdown()
  }

  /// Service and app die in turns, and at the end everything is there.
  @Test func andTheServiceInTurns() async throws {
    let file = FileResource(size: 24 << 20)
    // The file is not complete before the service has died twice, however late this process gets its turns.
    file.update { $0.cuts = [.after(6 << 20, .stall), .after(6 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_LAUNCH_WAIT": "0.2", "URLSESSIOND_LAUNCH_GRACE": "0.5"]) { home in
      try home.plan { $0.faults = [AppFault(.beforeMove, .crash), AppFault(.inDidComplete, .crash)] }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await app.tell(.flush)
      try await eventually("bytes") { file.bytesSent > 4 << 20 }
      try await home.killService()
      try await eventually("more bytes") { file.served.count > 1 && file.bytesSent > 10 << 20 }
      try await app.kill9()
      try await home.killService()
      try await home.log().waitFor(.moved)
      try await home.killService()
      try await home.log().waitFor(.launchHandled)
      home.expectArrived("f", file.version, times: home.log().count(.didComplete))
      file.expectLittleLost()
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }
}
