import Foundation
import Synchronization
import URLLoadingSystem

/// Loads in one session, with the Kerberos ticket and the keychain of its environment, which are a matter of the whole
/// process. Each line of standard input is a method, a URL and, for a request with a body, the number of its bytes. Prints a
/// line for each: the status of the response, what each request was answered and over which protocol, and the body of the
/// response:
///
///     200 h2:401,http/1.1:200 hello
///
/// Arguments: `authority=FILE`, with the certificate that servers are trusted by; `proxy=PORT`, of an HTTP proxy on
/// localhost; `storage=` for credentials, `ephemeral` (the session's own), `shared` (the app's) or `none`; `user=NAME:PASSWORD`,
/// the permanent credential that challenges are answered with.
@main enum LoadApp {
  static func main() async {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.connectionProxyDictionary = [:]
    var user: URLCredential?
    for argument in CommandLine.arguments.dropFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1).map { String($0) }
      switch (parts.first, parts.last) {
      case ("authority", let file?): configuration.trustRoots = .file(file)
      case ("proxy", let port?):
        configuration.connectionProxyDictionary = [
          "HTTPEnable": 1, "HTTPProxy": "localhost", "HTTPPort": Int(port) ?? 0, "HTTPSEnable": 1,
          "HTTPSProxy": "localhost", "HTTPSPort": Int(port) ?? 0,
        ]
      case ("storage", "ephemeral"): break
      case ("storage", "shared"): configuration.urlCredentialStorage = .shared
      case ("storage", "none"): configuration.urlCredentialStorage = nil
      case ("user", let login?):
        let parts = login.split(separator: ":").map { String($0) }
        user = URLCredential(user: parts[0], password: parts[parts.count - 1], persistence: .permanent)
      default: exit(64)
      }
    }
    let loads = Loads(user)
    let session = URLSession(configuration: configuration, delegate: loads, delegateQueue: nil)
    while let line = readLine() {
      let words = line.split(separator: " ").map { String($0) }
      guard words.count > 1, let url = URL(string: words[1]) else { exit(64) }
      var request = URLRequest(url: url)
      request.httpMethod = words[0]
      let size = words.count > 2 ? Int(words[2]) : nil
      let task = session.dataTask(with: request, body: size.map { Data(repeating: UInt8(ascii: "x"), count: $0) })
      print(await loads.line(of: task))
    }
    await session.flush()
    session.invalidateAndCancel()
  }
}

extension URLSession {
  fileprivate func dataTask(with request: URLRequest, body: Data?) -> URLSessionDataTask {
    body.map { uploadTask(with: request, from: $0) } ?? dataTask(with: request)
  }
}

/// Writes down one load after the other, and answers each challenge of a server once.
private final class Loads: NSObject, URLSessionDataDelegate {
  private let credential: URLCredential?

  /// - Parameter credential: nil leaves challenges to the session.
  init(_ credential: URLCredential?) { self.credential = credential }

  private struct State {
    var body = Data()
    var transactions: [String] = []
    var end: CheckedContinuation<String, Never>?
  }

  private let state = Mutex(State())

  func line(of task: URLSessionTask) async -> String {
    await withCheckedContinuation { continuation in
      state.withLock { $0 = State(end: continuation) }
      task.resume()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    guard let credential, challenge.protectionSpace.serverTrust == nil, challenge.previousFailureCount == 0 else {
      return (.performDefaultHandling, nil)
    }
    return (.useCredential, credential)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.withLock { $0.body += data }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    let transactions = metrics.transactionMetrics.map {
      "\($0.networkProtocolName ?? "?"):\(($0.response as? HTTPURLResponse)?.statusCode ?? 0)"
    }
    state.withLock { $0.transactions = transactions }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let status = (task.response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "none"
    state.withLock { state in
      var words = [status, state.transactions.joined(separator: ","), String(decoding: state.body, as: UTF8.self)]
      if let error = error as? URLError { words = ["error", "\(error.code.rawValue)", error.localizedDescription] }
      state.end?.resume(returning: words.joined(separator: " "))
      state.end = nil
    }
  }
}
