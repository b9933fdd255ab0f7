import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a delegate that answers challenges with the user's password once, and gives up where it is wrong. (URL Session
/// Programming Guide, listing 6-1.)
///
///     EXAMPLES=1 swift run challenges http://localhost:8080
@main
struct Challenges {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: challenges SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    // Basic sends the password, Digest a proof of it: the delegate answers both alike.
    for path in ["basic", "digest"] {
      for password in ["secret", "wrong"] {
        let delegate = PasswordDelegate(user: "reader", password: password)
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        do {
          let (data, _) = try await session.data(from: server.appendingPathComponent(path))
          print("\(path), \(password): \(String(decoding: data, as: UTF8.self))", terminator: "")
        } catch let error as URLError where error.code == .cancelled {
          print("\(path), \(password): the password is wrong")
        }
      }
    }

    // Without a delegate, and without a credential in the storage, the server's refusal is the result.
    let (_, response) = try await URLSession.shared.data(from: server.appendingPathComponent("basic"))
    print("no delegate: status \((response as? HTTPURLResponse)?.statusCode ?? 0)")
  }
}

final class PasswordDelegate: NSObject, URLSessionTaskDelegate {
  private let user: String
  private let password: String

  init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    print(
      "challenge: \(space.authenticationMethod), realm \(space.realm ?? ""), \(challenge.previousFailureCount) failed")
    if challenge.previousFailureCount == 0 {
      let credential = URLCredential(user: user, password: password, persistence: .none)
      completionHandler(.useCredential, credential)
    } else {
      // A place to tell the user that the name and the password are wrong.
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }
}
