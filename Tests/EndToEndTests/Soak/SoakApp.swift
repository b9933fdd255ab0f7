import ChildProcess
import Foundation
import LoopbackServer
import TransferScript

/// One app of a soak: a program of its own that queues its share, is killed, and is started again.
actor SoakApp {
  /// A task that the service has promised.
  struct Promise: Sendable {
    let label: String
    let path: String
  }

  let name: String
  private let home: Home
  private let program: String
  private let base: URL
  private let batch: Int
  private var random: SeededGenerator
  private var remaining: Int
  private var running: RunningApp?
  private var log: SoakLog
  private var batches = 0
  private(set) var promises: [Promise] = []
  /// When the app was first owed something that it did not have, or last got something.
  private var waitingSince: ContinuousClock.Instant?
  private(set) var longestWait = Duration.zero

  init(_ number: Int, tasks: Int, plan: SoakPlan, home: Home, base: URL) throws {
    name = "soak-\(number)"
    self.home = home
    self.base = base
    batch = plan.batch
    program = try home.makeProgram(name)
    random = SeededGenerator(seed: plan.seed &+ UInt64(number) &* 7919)
    remaining = tasks
    log = SoakLog(path: home.app(name).log)
    // Some apps are started by the service for their events, others wait for their user.
    try home.plan(program: name) { $0.sendsLaunchEvents = number % 2 == 0 }
  }

  /// The calls that every process of the app has logged.
  func calls() -> SoakLog {
    log.read()
    return log
  }

  var isComplete: Bool {
    log.read()
    return remaining == 0 && promises.allSatisfy { log.ends[$0.label] != nil }
  }

  var missing: [Promise] {
    log.read()
    return promises.filter { log.ends[$0.label] == nil }
  }

  /// Queues, sleeps, is killed and started again, until `deadline`, by which it has queued everything.
  func live(until deadline: ContinuousClock.Instant) async {
    let batches = (remaining + batch - 1) / batch
    let pace = (deadline - .now) * 0.8 / max(1, batches)
    while ContinuousClock.now < deadline || remaining > 0 {
      noteProgress()
      do {
        let app = try await start()
        if remaining > 0 { try await queue(app) }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: try await end { try await app.kill9() }
        case 1: try await end { try await app.quit() }
        default: break
        }
      } catch {
        // It was killed on the way, or another process of it holds the session: the next one goes on.
        if let running { try? await end { try await running.kill9() } }
      }
      try? await Task.sleep(for: pace * Double.random(in: 0.2...1.2, using: &random))
    }
  }

  /// From now on it runs and is not killed.
  func settle() async {
    noteProgress()
    guard !log.isInvalid else {
      if let running { try? await end { try await running.kill9() } }
      return
    }
    _ = try? await start()
  }

  func kill() async {
    if let running { try? await end { try await running.kill9() } }
  }

  private func start() async throws -> RunningApp {
    if let running, Glibc.kill(running.pid, 0) == 0, !log.isInvalid(running.pid) { return running }
    running = nil
    let app = try await home.start(program)
    running = app
    return app
  }

  private func end(_ action: () async throws -> Void) async throws {
    try await action()
    running = nil
  }

  /// Queues one batch. What was queued counts when `flush` has said that the service has it.
  private func queue(_ app: RunningApp) async throws {
    var wanted: [Promise] = []
    for _ in 0..<min(batch, remaining) {
      batches += 1
      let size: Int64 =
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<70: .random(in: 1...16_384, using: &random)
        case 70..<92: .random(in: 50_000...500_000, using: &random)
        default: .random(in: 1_000_000...4_000_000, using: &random)
        }
      // Numbers of different apps differ: so do their files.
      let number = batches * 100 + (Int(name.dropFirst(5)) ?? 0)
      let promise = Promise(label: "t\(batches)", path: SoakServer.path(number, size: size))
      try app.say(.download(url: base.appendingPathComponent(promise.path).absoluteString, label: promise.label))
      wanted.append(promise)
    }
    let number = try app.say(.flush)
    try await stored(number, in: app)
    promises += wanted
    remaining -= wanted.count
  }

  private struct Ended: Error {}

  /// The app is another process: nothing but looking tells that the service has its tasks.
  private func stored(_ command: Int, in app: RunningApp) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !log.isDone(command, in: app.pid) {
      guard app.isRunning, !log.isInvalid(app.pid), ContinuousClock.now < deadline else { throw Ended() }
      try await Task.sleep(for: .milliseconds(50))
      log.read()
    }
  }

  private func noteProgress() {
    let count = log.ends.count
    log.read()
    let now = ContinuousClock.now
    if let since = waitingSince { longestWait = max(longestWait, now - since) }
    let isOwed = promises.contains { log.ends[$0.label] == nil }
    if !isOwed { waitingSince = nil } else if log.ends.count > count || waitingSince == nil { waitingSince = now }
  }
}
