import Foundation
import LoopbackServer
import Testing

/// Apps with many tasks while processes are killed and stopped, the network is cut, and folders and the socket go away:
/// every task arrives, whole, and each app is told of it once, or again only in another process.
@Suite(.fewAtATime) struct SoakTests {
  @Test func everyTaskArrivesWhateverHappens() async throws {
    let plan = SoakPlan(ProcessInfo.processInfo.environment)
    let files = SoakServer(seed: plan.seed)
    let server = try await LoopbackServer.start { files.reply(to: $0) }
    let variables = ["URLSESSIOND_LAUNCH_GRACE": "0.5", "URLSESSIOND_LAUNCH_WAIT": "1"]
    try await Home.run(variables) { home in
      let apps = try (1...plan.apps).map { number in
        let tasks = plan.tasks / plan.apps + (number <= plan.tasks % plan.apps ? 1 : 0)
        return try SoakApp(number, tasks: tasks, plan: plan, home: home, base: server.url())
      }
      let deadline = ContinuousClock.now + .seconds(plan.seconds)
      var faults = SoakFaults(home: home, server: files, seed: plan.seed)
      let pace = plan.seconds > 60 ? 0.5...5.0 : 0.2...0.6
      await withTaskGroup(of: Void.self) { group in
        for app in apps { group.addTask { await app.live(until: deadline) } }
        await faults.run(until: deadline, pace: pace)
      }
      files.setPerfect()
      do {
        try await eventually("every task to arrive", within: plan.patience, every: .milliseconds(500)) {
          for app in apps { await app.settle() }
          for app in apps { if await !app.isComplete { return false } }
          return true
        }
      } catch {
        for app in apps {
          let missing = await app.missing.map { "\($0.label) \($0.path)" }
          if !missing.isEmpty { Issue.record("seed \(plan.seed): \(app.name) lacks \(missing.prefix(20))") }
        }
        throw error
      }
      for app in apps { await expectWhole(app, plan, home) }
      for app in apps { await app.kill() }
      await report(apps, faults, files, plan)
    }
    await server.shutdown()
  }

  private func expectWhole(_ app: SoakApp, _ plan: SoakPlan, _ home: Home) async {
    let (name, log) = (app.name, await app.calls())
    for promise in await app.promises {
      let ends = log.ends[promise.label] ?? []
      let context = "seed \(plan.seed), \(name) \(promise.label) \(promise.path): \(ends)"
      #expect(!ends.isEmpty && ends.allSatisfy { $0.error == nil && $0.status ?? 0 < 300 }, "\(context)")
      #expect(Set(ends.map(\.process)).count == ends.count, "told twice in one process: \(context)")
      guard let version = SoakServer.version(promise.path) else { continue }
      let difference = version.pattern.difference(toFile: home.app(name).file(promise.label), count: version.size)
      #expect(difference == nil, "\(difference ?? "") \(context)")
      if let last = ends.last, let calls = log.calls[promise.label]?[last.process] {
        #expect(calls == [.didFinishDownloading, .moved, .didComplete], "\(calls) \(context)")
      }
    }
    let wait = await app.longestWait
    #expect(wait < .seconds(plan.longestWait), "seed \(plan.seed): \(name) got nothing for \(wait)")
  }

  private func report(_ apps: [SoakApp], _ faults: SoakFaults, _ files: SoakServer, _ plan: SoakPlan) async {
    guard plan.seconds > 60 else { return }
    let told = faults.counts.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
    print("soak: seed \(plan.seed); \(files.requests) requests; \(told)")
    for app in apps {
      let log = await app.calls()
      let again = log.ends.values.count { $0.count > 1 }
      print(
        "soak: \(app.name): \(await app.promises.count) tasks arrived, \(again) told again, \(log.launches) launches, "
          + "longest wait \(await app.longestWait)")
    }
  }
}
