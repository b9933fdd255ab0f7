import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A delegate that answers the challenges of requests with what a closure says, and writes them down.
final class CredentialDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)

  // Sendable by hand: nothing changes.
  let asked = Recorder<URLAuthenticationChallenge>()
  private let answer: @Sendable (URLAuthenticationChallenge) -> Answer
  private let stream: (@Sendable () -> InputStream?)?

  init(
    stream: (@Sendable () -> InputStream?)? = nil, _ answer: @escaping @Sendable (URLAuthenticationChallenge) -> Answer
  ) {
    self.stream = stream
    self.answer = answer
  }

  /// Answers every challenge with one user.
  static func user(
    _ user: String, _ password: String, _ persistence: URLCredential.Persistence = .forSession
  ) -> CredentialDelegate {
    CredentialDelegate { _ in (.useCredential, URLCredential(user: user, password: password, persistence: persistence))
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    // Over TLS the server's certificates are put to the same method.
    guard challenge.protectionSpace.serverTrust == nil else { return completionHandler(.performDefaultHandling, nil) }
    asked.record(challenge)
    let answer = answer(challenge)
    completionHandler(answer.0, answer.1)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) { completionHandler(stream?()) }
}

extension URLSession {
  /// A session with a credential storage of its own, whose challenges `delegate` answers.
  static func answering(
    _ delegate: CredentialDelegate?, _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.loopback
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }
}

extension Reply {
  static func unauthorized(_ challenges: String..., body: String = "who?") -> Reply {
    .status(401, fields: challenges.map { ("WWW-Authenticate", $0) }, body: body)
  }
}

extension URL {
  /// The same URL with a user name and a password.
  func naming(_ user: String, _ password: String?) throws -> URL {
    var parts = try #require(URLComponents(url: self, resolvingAgainstBaseURL: true))
    (parts.user, parts.password) = (user, password)
    return try #require(parts.url)
  }
}

/// The value of Authorization for a user and a password.
func basic(_ user: String, _ password: String) -> String {
  "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
}

func expectText(
  _ expected: String, _ loaded: (Data, URLResponse), sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(String(decoding: loaded.0, as: UTF8.self) == expected, sourceLocation: sourceLocation)
}

func expectStatus(
  _ expected: Int, _ loaded: (Data, URLResponse), sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect((loaded.1 as? HTTPURLResponse)?.statusCode == expected, sourceLocation: sourceLocation)
}
