import Foundation
import LoopbackServer
import Testing

/// Apps with many downloads and uploads while processes are killed and stopped, the network is cut, the disk is full or only
/// read, and folders, the socket and the queue go away: every task arrives, whole, and each app is told of it once, or again
/// only where it has not acknowledged it.
@Suite(.fewAtATime) struct SoakTests {
  @Test func everyTaskArrivesWhateverHappens() async throws {
    let plan = SoakPlan(ProcessInfo.processInfo.environment)
    let files = SoakServer(seed: plan.seed)
    let server = try await LoopbackServer.start { files.reply(to: $0) }
    let variables = ["URLSESSIOND_LAUNCH_GRACE": "0.5", "URLSESSIOND_LAUNCH_WAIT": "1"]
    try await Home.run(variables) { home in
      let disk =
        Namespaces.obstacleToDisks == nil ? try await SmallDisk(at: home.path + "/state", bytes: plan.diskBytes) : nil
      defer {
        if let logs = plan.logs { keepLogs(of: home, disk, in: logs) }
        disk?.end()
      }
      do { try await soak(plan, home, disk, files, server) } catch {
        let log = disk.flatMap {
          try? String(contentsOfFile: $0.path + "/urlsessiond/urlsessiond.log", encoding: .utf8)
        }
        let tail = log?.split(separator: "\n").suffix(60).joined(separator: "\n")
        Issue.record("seed \(plan.seed), the end of the service's log:\n\(tail ?? "none")")
        throw error
      }
    }
    await server.shutdown()
  }

  private func keepLogs(of home: Home, _ disk: SmallDisk?, in folder: String) {
    let files = FileManager.default
    try? files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let state = disk.map { $0.path + "/urlsessiond" } ?? home.stateFolder
    let apps = (try? files.contentsOfDirectory(atPath: home.path + "/app")) ?? []
    for log in ["\(state)/urlsessiond.log"] + apps.filter({ $0.hasSuffix(".log") }).map({ "\(home.path)/app/\($0)" }) {
      try? files.copyItem(atPath: log, toPath: "\(folder)/\((log as NSString).lastPathComponent)")
    }
  }

  private func soak(
    _ plan: SoakPlan, _ home: Home, _ disk: SmallDisk?, _ files: SoakServer, _ server: LoopbackServer
  ) async throws {
    let apps = try (1...plan.apps).map { number in
      let tasks = plan.tasks / plan.apps + (number <= plan.tasks % plan.apps ? 1 : 0)
      return try SoakApp(
        number, tasks: tasks, plan: plan, home: home, place: disk?.place ?? [], base: server.url())
    }
    let deadline = ContinuousClock.now + .seconds(plan.seconds)
    var faults = SoakFaults(home: home, server: files, disk: disk, seed: plan.seed)
    let end = Gate()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for app in apps { group.addTask { await app.live(until: deadline, end) } }
      // The apps go on until then: only they start a service that has ended.
      defer { end.open() }
      try await faults.run(until: deadline, pace: plan.pace)
    }
    files.setPerfect()
    do {
      try await eventually("every task to arrive", within: plan.patience, every: .milliseconds(300)) {
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
    for app in apps { await expectWhole(app, plan, home, files, faults.losses) }
    #expect(files.wrongUploads.isEmpty, "seed \(plan.seed)")
    for app in apps {
      let heard = try await app.startAnew()
      #expect(heard == (tasks: 0, ends: 0), "seed \(plan.seed): \(app.name) has acknowledged everything")
    }
    await report(apps, faults, files, plan)
  }

  private func expectWhole(
    _ app: SoakApp, _ plan: SoakPlan, _ home: Home, _ files: SoakServer, _ losses: [SoakFaults.Loss]
  ) async {
    let (name, log) = (app.name, await app.calls())
    for promise in await app.promises {
      let ends = log.ends[promise.label] ?? []
      let context = "seed \(plan.seed), \(name) \(promise.label) \(promise.path): \(ends)"
      expectOnce(promise, ends, log, losses, context)
      guard let last = ends.last, last.error == nil, promise.allows(last) else { continue }
      guard !promise.isUpload else {
        #expect(files.uploads.contains(promise.path), "\(context)")
        continue
      }
      guard let version = SoakServer.version(promise.path) else { continue }
      let difference = version.pattern.difference(toFile: home.app(name).file(promise.label), count: version.size)
      #expect(difference == nil, "\(difference ?? "") \(context)")
      // The service has removed the file that was acknowledged, and may have forgotten the acknowledgement.
      let isToldAgain = ends.count > 1 && isLossBetween(ends[0], last, losses)
      if !isToldAgain, let calls = log.calls[promise.label]?[last.process] {
        #expect(calls.suffix(3) == [.didFinishDownloading, .moved, .didComplete], "\(calls) \(context)")
      }
    }
    let wait = await app.longestWait
    #expect(wait < .seconds(plan.longestWait), "seed \(plan.seed): \(name) got nothing for \(wait)")
  }

  /// The first end is right. A further one is told to another process, before the first was acknowledged, with the same
  /// result. Only where the queue was lost between them may the service have forgotten the first.
  private func expectOnce(
    _ promise: SoakPromise, _ ends: [SoakLog.End], _ log: SoakLog, _ losses: [SoakFaults.Loss], _ context: String
  ) {
    #expect(ends.first.map { promise.allows($0) } == true, "\(context)")
    for (before, end) in zip(ends, ends.dropFirst()) {
      // A file that the app has moved away can't be told of again with success.
      if isLossBetween(ends[0], end, losses) { continue }
      #expect(promise.allows(end), "\(context)")
      #expect(end.process != before.process, "told twice in one process: \(context)")
      if let acknowledged = log.acknowledged[promise.label] {
        #expect(end.time <= acknowledged, "acknowledged at \(acknowledged): \(context)")
      }
    }
  }

  /// Whether the queue was lost after the service had sent the first end. A busy process makes its calls a while later.
  private func isLossBetween(_ first: SoakLog.End, _ later: SoakLog.End, _ losses: [SoakFaults.Loss]) -> Bool {
    losses.contains { $0.upperBound >= first.time - 10 && $0.lowerBound <= later.time }
  }

  private func report(_ apps: [SoakApp], _ faults: SoakFaults, _ files: SoakServer, _ plan: SoakPlan) async {
    guard plan.isLong else { return }
    let told = faults.counts.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
    print("soak: seed \(plan.seed); \(files.requests) requests, \(files.uploads.count) uploads; \(told)")
    for app in apps {
      let log = await app.calls()
      let again = log.ends.values.count { $0.count > 1 }
      let cancelled = await app.promises.count { $0.isCancelled }
      print(
        "soak: \(app.name): \(await app.promises.count) tasks ended, \(cancelled) of them cancelled, \(again) told again, "
          + "\(log.launches) launches, longest wait \(await app.longestWait)")
    }
  }
}
