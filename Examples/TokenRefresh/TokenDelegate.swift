import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Answers the server's challenges with a token.
///
/// The challenge is one of Bearer here. Apple's systems have no challenges of that scheme; the same delegate answers a
/// server there that takes the token as a password (Basic).
final class TokenDelegate: NSObject, URLSessionTaskDelegate {
  private struct State {
    var token: String?
    var refresh: Task<String, any Error>?
    var numberOfTokens = 0
  }

  private let server: URL
  private let state = Mutex(State())

  init(server: URL) { self.server = server }

  var numberOfTokens: Int { state.withLock { $0.numberOfTokens } }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    guard challenge.protectionSpace.realm == "articles", challenge.previousFailureCount < 3 else {
      return (.performDefaultHandling, nil)
    }
    // After a failure the proposed credential is the one that failed.
    let refused = challenge.previousFailureCount > 0 ? challenge.proposedCredential?.password : nil
    guard let token = try? await token(otherThan: refused) else { return (.cancelAuthenticationChallenge, nil) }
    return (.useCredential, URLCredential(user: "", password: token, persistence: .forSession))
  }

  /// The present token, unless it was refused; then a new one. All that ask meanwhile get the same.
  private func token(otherThan refused: String?) async throws -> String {
    let (token, refresh): (String?, Task<String, any Error>?) = state.withLock { state in
      if let token = state.token, token != refused { return (token, nil) }
      let refresh = state.refresh ?? Task { try await newToken() }
      state.refresh = refresh
      return (nil, refresh)
    }
    if let token { return token }
    guard let refresh else { throw URLError(.userAuthenticationRequired) }
    return try await refresh.value
  }

  private func newToken() async throws -> String {
    struct Answer: Decodable {
      let token: String

      enum CodingKeys: String, CodingKey { case token = "access_token" }
    }
    defer { state.withLock { $0.refresh = nil } }
    var request = URLRequest(url: server.appendingPathComponent("token"))
    request.httpMethod = "POST"
    request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    // Another session: this one must not be asked for a token.
    let (data, response) = try await URLSession.shared.upload(
      for: request, from: Data("grant_type=refresh_token&refresh_token=refresh-1".utf8))
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.userAuthenticationRequired) }
    let token = try JSONDecoder().decode(Answer.self, from: data).token
    print("a new token")
    state.withLock {
      $0.token = token
      $0.numberOfTokens += 1
    }
    return token
  }
}
