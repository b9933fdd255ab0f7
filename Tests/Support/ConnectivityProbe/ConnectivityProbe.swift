import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A program for a network namespace of its own, where the loopback interface is down at first: loads from a server
/// within itself and prints how that went, as `waiting=1 status=200 code=0`.
///
/// Its argument says what the load is like: `refuses` does not wait for a network; `waits` does, and gets one long after
/// the request's time limit; `expires` never gets one. `keeps-off` has a network, over an interface `cell0`, and must not
/// use mobile ones; `moves` waits there until another way leads to the server. `serve` only serves (`FileServing`); `roam`
/// and `fetch` only load (`Roaming`, `Fetching`).
@main struct ConnectivityProbe {
  static func main() async throws {
    let mode = CommandLine.arguments.dropFirst().first ?? ""
    let others = CommandLine.arguments.dropFirst(2).map { $0 }
    if mode == "serve" { return try await FileServing.run(others) }
    if mode == "roam" { return try await Roaming.run(others) }
    if mode == "fetch" { return try await Fetching.run(others) }
    var options = LoopbackServer.Options()
    // 127.0.0.1 can't be listened on while the interface is down.
    options.host = "0.0.0.0"
    let server = try await LoopbackServer.start(options: options) { _ in .ok("here") }
    let isElsewhere = mode == "keeps-off" || mode == "moves"
    let host = isElsewhere ? "198.51.100.7" : "127.0.0.1"
    guard let url = URL(string: "http://\(host):\(server.port)/") else { throw URLError(.badURL) }
    if isElsewhere { try makeNetwork() }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.waitsForConnectivity = mode != "refuses" && mode != "keeps-off"
    configuration.allowsCellularAccess = !isElsewhere
    configuration.timeoutIntervalForRequest = mode == "waits" ? 3 : 60
    configuration.timeoutIntervalForResource = mode == "expires" ? 5 : 60
    let observer = Observer()
    let session = URLSession(configuration: configuration, delegate: observer, delegateQueue: nil)
    session.dataTask(with: url).resume()
    if mode == "waits" {
      try await observer.isWaiting.wait(within: patience)
      // A change that brings no network: the load waits on.
      try run("ip", "link", "set", "lo", "mtu", "60000")
      // The request's time limit must not run meanwhile.
      for _ in 0..<2 { try await passLimit(of: configuration.timeoutIntervalForRequest) }
      try run("ip", "link", "set", "lo", "up")
    }
    if mode == "moves" {
      try await observer.isWaiting.wait(within: patience)
      // The address becomes this machine's own.
      try run("ip", "address", "add", host + "/32", "dev", "lo")
    }
    try await observer.done.wait(within: patience)
    let result = observer.result
    let reason = result.reason.map { " reason=\($0)" } ?? ""
    print("waiting=\(result.waiting) status=\(result.status) code=\(result.code)\(reason)")
    session.invalidateAndCancel()
    await server.shutdown()
  }

  /// Returns when the time limit has passed of a request that a server of this machine leaves without an answer.
  private static func passLimit(of limit: TimeInterval) async throws {
    var options = LoopbackServer.Options()
    options.socketPath = NSTemporaryDirectory() + "silent-\(getpid())"
    let silent = try await LoopbackServer.start(options: options) { _ in Reply([.stall]) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.unixSocketPath = options.socketPath
    configuration.timeoutIntervalForRequest = limit
    let session = URLSession(configuration: configuration)
    guard let url = URL(string: "http://localhost/") else { throw URLError(.badURL) }
    let outcome: Result<Void, any Error>
    do { outcome = .success(_ = try await session.data(from: url)) } catch { outcome = .failure(error) }
    session.invalidateAndCancel()
    await silent.shutdown()
    do { try outcome.get() } catch URLError.timedOut { return }
    throw URLError(.unknown)
  }

  private static func makeNetwork() throws {
    try run("ip", "link", "set", "lo", "up")
    try run("ip", "link", "add", "cell0", "type", "veth", "peer", "name", "cell1")
    for end in ["cell0", "cell1"] { try run("ip", "link", "set", end, "up") }
    try run("ip", "address", "add", "198.51.100.1/24", "dev", "cell0")
  }

  /// Foundation's `Process` does not work without a loopback interface.
  static func run(_ program: String, _ arguments: String...) throws {
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    var status: Int32 = -1
    guard posix_spawnp(&child, program, nil, nil, words, environ) == 0, waitpid(child, &status, 0) == child, status == 0
    else { throw ProgramFailed(program: program, arguments: arguments) }
  }

  private struct ProgramFailed: Error { let program: String, arguments: [String] }
}

private final class Observer: NSObject, URLSessionDataDelegate, Sendable {
  let isWaiting = Gate()
  let done = Gate()
  struct Result: Sendable {
    var waiting = 0
    var status = 0
    var code = 0
    var reason: Int?
  }

  private let state = Mutex(Result())

  var result: Result { state.withLock { $0 } }

  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
    state.withLock { $0.waiting += 1 }
    isWaiting.open()
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock {
      $0.status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
      $0.code = (error as? URLError)?.code.rawValue ?? 0
      $0.reason = (error as? URLError)?.networkUnavailableReason?.rawValue
    }
    done.open()
  }
}
