import Foundation
import LoopbackServer
import Observation
import URLLoadingSystem

// Starts, suspends, resumes and cancels tasks of every kind from many threads at random, against a server in the same
// process, and checks that each ends exactly once and that nothing is left over. Run by Scripts/stress under the thread
// sanitizer.
//
// usage: stress [TASKS] [THREADS] [SEED]

@main struct Stress {
  static let bodySize = 3_000

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) ?? 0 }
    let count = Int(arguments.first.map { max(1, $0) } ?? 20_000)
    let threads = Int(arguments.dropFirst().first.map { max(1, $0) } ?? 8)
    let seed = arguments.dropFirst(2).first ?? UInt64.random(in: 1...UInt64(UInt32.max))
    print("stress: \(count) tasks, \(threads) threads, seed \(seed)")

    let clock = ContinuousClock()
    let start = clock.now
    let body = [UInt8](repeating: 0x61, count: bodySize)
    let server = try await LoopbackServer.start { request in
      request.path == "/chunked"
        ? Reply([
          .head(200, fields: [("Transfer-Encoding", "chunked")]), .chunk(Array(body.prefix(1_000))),
          .chunk(Array(body.dropFirst(1_000))), .endOfChunks,
        ]) : .ok(body)
    }
    // Whatever opens descriptors for good has done so after one load of each kind.
    try await warmUp(server)
    let before = try LeakCheck.counts()

    var complaints: [String] = []
    let tally = Tally(expecting: count)
    let watch = Watch()
    do {
      let delegate = StressDelegate(tally: tally, bodySize: Int64(bodySize))
      let configuration = URLSessionConfiguration.ephemeral
      // The last of the tasks wait long for one of six connections, and the sanitizer makes everything slow.
      configuration.timeoutIntervalForRequest = 900
      let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
      watch.session = session
      run(count, on: threads, seed: seed, session, server, tally)
      if !(await waited { tally.wait(seconds: 600) }) { complaints.append("not every task ended within ten minutes") }
      let left = await session.allTasks.count
      if left > 0 { complaints.append("\(left) tasks are still listed") }
      session.finishTasksAndInvalidate()
      if !(await waited { delegate.invalid.wait(timeout: .now() + 60) == .success }) {
        complaints.append("the session did not become invalid")
      }
    }
    complaints += await leaks(server, before: before, watch)
    let connections = server.connectionCount
    await server.shutdown()

    let report = tally.report()
    complaints += report.complaints
    print(
      "stress: \(report.succeeded) succeeded, \(report.cancelled) cancelled, \(connections) connections,",
      terminator: " ")
    print("\(clock.now - start)")
    for complaint in complaints { print("stress: \(complaint)") }
    if !complaints.isEmpty { exit(1) }
    print("stress: every task ended once, nothing is left")
  }

  private static func warmUp(_ server: LoopbackServer) async throws {
    let session = URLSession(configuration: .ephemeral)
    _ = try await session.data(from: server.url("/warm"))
    let (file, _) = try await session.download(from: server.url("/warm"))
    try FileManager.default.removeItem(at: file)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
  }

  /// Blocking waits stay away from the threads of Swift tasks.
  private static func waited(_ wait: @escaping @Sendable () -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: wait()) }
    }
  }

  private static func run(
    _ count: Int, on threads: Int, seed: UInt64, _ session: URLSession, _ server: LoopbackServer, _ tally: Tally
  ) {
    for thread in 0..<threads {
      Thread.detachNewThread {
        var random = SeededGenerator(seed: seed &+ UInt64(thread) &* 0x9E37)
        var tasks: [URLSessionTask] = []
        for number in stride(from: thread, to: count, by: threads) {
          if let task = start(number, session, server, tally, &random) { tasks.append(task) }
          // One of the last hundred gets a push or two.
          for _ in 0..<Int(random.next() % 4) {
            guard let task = tasks.suffix(100).randomElement(using: &random) else { break }
            steer(task, &random)
          }
          if number % 64 == thread { usleep(useconds_t(random.next() % 2_000)) }
        }
        // Everything must end: whatever is still held goes on now, a little of it is cancelled.
        for task in tasks {
          if random.next() % 16 == 0 { task.cancel() }
          while task.state == .suspended { task.resume() }
        }
      }
    }
  }

  private static func steer(_ task: URLSessionTask, _ random: inout SeededGenerator) {
    switch random.next() % 10 {
    case 0: task.cancel()
    case 1, 2: task.suspend()
    case 3: task.priority = Float(random.next() % 100) / 100
    case 4: _ = task.progress.fractionCompleted
    case 5: task.taskDescription = task.taskDescription
    case 6:
      withObservationTracking {
        _ = (task.state, task.countOfBytesReceived, task.error == nil)
      } onChange: {
      }
    default: task.resume()
    }
  }

  /// Starts task `number`: of any kind, through any of the ways there are. nil for `async` calls, which steer themselves.
  private static func start(
    _ number: Int, _ session: URLSession, _ server: LoopbackServer, _ tally: Tally, _ random: inout SeededGenerator
  ) -> URLSessionTask? {
    let url = server.url(random.next() % 2 == 0 ? "/known" : "/chunked")
    var post = URLRequest(url: url)
    post.httpMethod = "POST"
    let task: URLSessionTask
    switch random.next() % 9 {
    case 0: task = session.dataTask(with: url)
    case 1: task = session.downloadTask(with: url)
    case 2: task = session.uploadTask(with: post, from: Data(count: 2_000))
    case 3:
      task = session.dataTask(with: url) { data, _, error in
        tally.end(number, error, isWhole: data?.count == bodySize)
      }
    case 4:
      task = session.downloadTask(with: url) { file, _, error in
        let size = file.flatMap { try? FileManager.default.attributesOfItem(atPath: $0.path)[.size] as? Int }
        tally.end(number, error, isWhole: size == bodySize)
      }
    case 5:
      task = session.uploadTask(with: post, from: Data(count: 5_000)) { data, _, error in
        tally.end(number, error, isWhole: data?.count == bodySize)
      }
    case 6, 7, 8:
      startCall(number, url, session, tally, &random)
      return nil
    default: return nil
    }
    task.taskDescription = String(number)
    if random.next() % 10 != 0 { task.resume() }
    return task
  }

  private static func startCall(
    _ number: Int, _ url: URL, _ session: URLSession, _ tally: Tally, _ random: inout SeededGenerator
  ) {
    let kind = random.next() % 4
    let call = Task {
      do {
        var count = 0
        switch kind {
        case 0: count = try await session.data(from: url).0.count
        case 1:
          let (file, _) = try await session.download(from: url)
          count = try Data(contentsOf: file).count
          try FileManager.default.removeItem(at: file)
        case 2:
          var request = URLRequest(url: url)
          request.httpMethod = "PUT"
          count = try await session.upload(for: request, from: Data(count: 3_000)).0.count
        default: for try await _ in try await session.bytes(from: url).0 { count += 1 }
        }
        tally.end(number, nil, isWhole: count == bodySize)
      } catch { tally.end(number, error, isWhole: false) }
    }
    switch random.next() % 6 {
    case 0: call.cancel()
    case 1:
      let delay = random.next() % 3_000
      Task {
        try? await Task.sleep(for: .microseconds(delay))
        call.cancel()
      }
    default: break
    }
  }

  /// What is still there although everything has ended.
  private static func leaks(
    _ server: LoopbackServer, before: [OpenDescriptor.Kind: Int], _ watch: Watch
  ) async -> [String] {
    var complaints: [String] = []
    do { try await server.expectNoOpenConnections() } catch { complaints.append("connections stay open: \(error)") }
    do { try await eventually("the session to be released") { watch.session == nil } } catch {
      complaints.append("\(error)")
    }
    do {
      try await eventually("descriptors to be closed", within: .seconds(10)) {
        let now = try LeakCheck.counts()
        return [.socket, .file, .pipe].allSatisfy { now[$0, default: 0] <= before[$0, default: 0] }
      }
    } catch {
      let now = (try? LeakCheck.openDescriptors()) ?? []
      complaints.append("descriptors stay open: \(error); \(before) before, now \(now)")
    }
    return complaints
  }
}

/// Tells whether the session is still there. Sendable by hand: set once, before anybody else has it.
private final class Watch: @unchecked Sendable {
  weak var session: URLSession?
}
