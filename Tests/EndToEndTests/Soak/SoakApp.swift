import ChildProcess
import Foundation
import LoopbackServer
import TransferScript

/// One app of a soak: a program of its own that queues its share, suspends and cancels some of it, is killed, and is started
/// again.
actor SoakApp {
  let name: String
  private let home: Home
  private let place: [String]
  private let program: String
  private let base: URL
  private let batch: Int
  private var random: SeededGenerator
  private var remaining: Int
  private var running: RunningApp?
  private var log: SoakLog
  private var made = 0
  private(set) var promises: [SoakPromise] = []
  /// When the app was first owed something that it did not have, or last got something.
  private var waitingSince: ContinuousClock.Instant?
  private(set) var longestWait = Duration.zero

  /// - Parameter place: a command that runs the program where the service's state is.
  init(_ number: Int, tasks: Int, plan: SoakPlan, home: Home, place: [String], base: URL) throws {
    name = "soak-\(number)"
    self.home = home
    self.place = place
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

  /// Everything has ended, and the service has the acknowledgement of it.
  var isComplete: Bool {
    log.read()
    return remaining == 0 && promises.allSatisfy { log.ends[$0.label] != nil }
      && log.unacknowledged.map { $0.process == running?.pid && $0.count == 0 } ?? false
  }

  var missing: [SoakPromise] {
    log.read()
    return promises.filter { log.ends[$0.label] == nil }
  }

  /// Queues, sleeps, is killed and started again, until `end` is open. By `deadline` it has queued everything, where it can.
  func live(until deadline: ContinuousClock.Instant, _ end: Gate) async {
    let batches = (remaining + batch - 1) / batch
    let pace = (deadline - .now) * 0.8 / max(1, batches)
    while !end.isOpen || remaining > 0 {
      noteProgress()
      do {
        let app = try await start()
        if remaining > 0 { try await queue(app) }
        try disturb(app)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: try await ending { try await app.kill9() }
        case 1: try await ending { try await app.quit() }
        default: break
        }
      } catch {
        // It was killed on the way, or another process of it holds the session: the next one goes on.
        await kill()
      }
      try? await Task.sleep(for: pace * Double.random(in: 0.2...1.2, using: &random))
    }
  }

  /// From now on it runs and is not killed.
  func settle() async {
    noteProgress()
    guard !log.isInvalid else { return await kill() }
    guard let app = try? await start() else { return }
    _ = try? app.say(.resumeAll)
    _ = try? app.say(.logAcknowledged)
  }

  func kill() async {
    if let running { try? await ending { try await running.kill9() } }
  }

  /// A further process of the app, of which everything was acknowledged: the tasks that it finds, and the ends that it was
  /// told of.
  func startAnew() async throws -> (tasks: Int, ends: Int) {
    await kill()
    let app = try await start()
    // The list comes after the events that the service still had for the session.
    let number = try app.say(.list)
    try await done(number, in: app)
    let process = app.pid
    let ends = log.ends.values.joined().count { $0.process == process }
    try await ending { try await app.quit() }
    return (log.listed[process] ?? -1, ends)
  }

  private func start() async throws -> RunningApp {
    if let running, running.isRunning, !log.isInvalid(running.pid) { return running }
    running = nil
    let app = try await home.start(program, in: place)
    running = app
    return app
  }

  private func ending(_ action: () async throws -> Void) async throws {
    try await action()
    running = nil
  }

  /// Queues one batch. What was queued counts when `flush` has said that the service has it.
  private func queue(_ app: RunningApp) async throws {
    var wanted: [SoakPromise] = []
    let count = min(batch, remaining)
    for index in 0..<count {
      let promise = makePromise(index)
      if promise.isUpload {
        // It stays: where there is no room for a copy, the service sends the file itself.
        let file = "\(home.path)/\(name).upload.\(promise.label)"
        guard let version = SoakServer.version(promise.path) else { continue }
        try version.pattern.write(toFile: file, count: version.size)
        try app.say(.upload(url: url(promise), file: file, label: promise.label))
      } else {
        try app.say(.download(url: url(promise), label: promise.label, startsSuspended: promise.isSuspended))
      }
      wanted.append(promise)
    }
    try await done(app.say(.flush), in: app)
    promises += wanted
    remaining -= count
  }

  private func url(_ promise: SoakPromise) -> String { base.appendingPathComponent(promise.path).absoluteString }

  /// Each batch begins with an upload and with a task that is suspended; the others are chosen.
  private func makePromise(_ index: Int) -> SoakPromise {
    made += 1
    let size: Int64 =
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<70: .random(in: 1...16_384, using: &random)
      case 70..<92: .random(in: 50_000...500_000, using: &random)
      default: .random(in: 1_000_000...4_000_000, using: &random)
      }
    // Numbers of different apps differ: so do their files.
    let number = made * 100 + (Int(name.dropFirst(5)) ?? 0)
    let isUpload = index == 0 || random.chance(in: 8)
    return SoakPromise(
      label: "t\(made)", path: SoakServer.path(number, size: size), isUpload: isUpload,
      isSuspended: !isUpload && (index == 1 || random.chance(in: 16)))
  }

  /// Cancels one task, resumes some that are suspended, and has the acknowledgements logged.
  private func disturb(_ app: RunningApp) throws {
    log.read()
    let present = promises.indices.filter { log.ends[promises[$0].label] == nil && !promises[$0].isCancelled }
    if let index = present.randomElement(using: &random) {
      promises[index].isCancelled = true
      try app.say(.cancel(label: promises[index].label))
    }
    for index in present where promises[index].isSuspended && random.chance(in: 2) {
      (promises[index].isSuspended, promises[index].wasSuspended) = (false, true)
      try app.say(.resume(label: promises[index].label))
    }
    // A task that runs is held for a moment.
    if let index = present.randomElement(using: &random), !promises[index].isSuspended {
      try app.say(.suspend(label: promises[index].label))
      promises[index].isSuspended = true
    }
    try app.say(.logAcknowledged)
  }

  private struct Ended: Error {
    let app: String
    let end: String
  }

  /// The app is another process: nothing but looking tells that it has carried out a command.
  private func done(_ command: Int, in app: RunningApp) async throws {
    try await eventually("command \(command) of \(name)", within: .seconds(60), every: .milliseconds(20)) {
      @Sendable in
      try await self.isDone(command, in: app)
    }
  }

  private func isDone(_ command: Int, in app: RunningApp) throws -> Bool {
    log.read()
    if let end = app.end { throw Ended(app: "\(name), process \(app.pid)", end: end) }
    guard !log.isInvalid(app.pid) else {
      let code = log.invalidity(of: app.pid).map { "\($0)" } ?? "none"
      throw Ended(app: "\(name), process \(app.pid)", end: "its session is invalid: error \(code)")
    }
    return log.isDone(command, in: app.pid)
  }

  private func noteProgress() {
    let count = log.ends.count
    log.read()
    let now = ContinuousClock.now
    if let since = waitingSince { longestWait = max(longestWait, now - since) }
    let isOwed = promises.contains { log.ends[$0.label] == nil && !$0.isSuspended && !$0.wasSuspended }
    if !isOwed { waitingSince = nil } else if log.ends.count > count || waitingSince == nil { waitingSince = now }
  }
}
