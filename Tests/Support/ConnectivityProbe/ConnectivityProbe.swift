import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A program for a network namespace of its own, where the loopback interface is down at first: loads from a server
/// within itself and prints how that went, as `waiting=1 status=200 code=0`.
///
/// Its argument says what the load is like: `refuses` does not wait for a network; `waits` does, and gets one long after
/// the request's time limit; `expires` never gets one.
@main struct ConnectivityProbe {
  static func main() async throws {
    let mode = CommandLine.arguments.dropFirst().first ?? ""
    var options = LoopbackServer.Options()
    // 127.0.0.1 can't be listened on while the interface is down.
    options.host = "0.0.0.0"
    let server = try await LoopbackServer.start(options: options) { _ in .ok("here") }
    guard let url = URL(string: "http://127.0.0.1:\(server.port)/") else { throw URLError(.badURL) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.waitsForConnectivity = mode != "refuses"
    configuration.timeoutIntervalForRequest = mode == "waits" ? 0.2 : 30
    configuration.timeoutIntervalForResource = mode == "expires" ? 0.5 : 30
    let observer = Observer()
    let session = URLSession(configuration: configuration, delegate: observer, delegateQueue: nil)
    session.dataTask(with: url).resume()
    if mode == "waits" {
      try await observer.isWaiting.wait(within: patience)
      // What changes without bringing a network: the load tries again, and waits again.
      try run("ip", "link", "set", "lo", "mtu", "60000")
      // Several times the request's time limit, which must not run meanwhile.
      try await Task.sleep(for: .seconds(1))
      try run("ip", "link", "set", "lo", "up")
    }
    try await observer.done.wait(within: patience)
    let (waiting, status, code) = observer.result
    print("waiting=\(waiting) status=\(status) code=\(code)")
    session.invalidateAndCancel()
    await server.shutdown()
  }

  /// Foundation's `Process` does not work without a loopback interface.
  private static func run(_ program: String, _ arguments: String...) throws {
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
  private let state = Mutex((waiting: 0, status: 0, code: 0))

  var result: (waiting: Int, status: Int, code: Int) { state.withLock { $0 } }

  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
    state.withLock { $0.waiting += 1 }
    isWaiting.open()
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock {
      $0.status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
      $0.code = (error as? URLError)?.code.rawValue ?? 0
    }
    done.open()
  }
}
