import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Keeps the handlers of the challenges it is asked, and says which realms it was asked about.
private final class Keeper: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  let asked = Recorder<(realm: String?, handler: Handler)>()

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping Handler
  ) { asked.record((challenge.protectionSpace.realm, completionHandler)) }
}

@Suite struct QuestionTurnTests {
  /// A connection may ask about its server while its load already asks something else: the second question is put
  /// only when the first has its answer.
  @Test func oneQuestionAtATime() async throws {
    let keeper = Keeper()
    let session = URLSession(configuration: .ephemeral, delegate: keeper, delegateQueue: nil)
    let task = session.dataTask(with: try textURL("x"))
    let load = TaskLoad(task: task, start: task.lockedState.withLock { $0.start(in: session) })
    let context = LoadContext(
      for: nil, configuration: LoadConfiguration(), transport: HTTPTransport(configuration: TransportConfiguration()),
      client: load)
    let answers = Recorder<String>()
    for realm in ["first", "second"] {
      context.start { context in
        let space = URLProtectionSpace(
          host: "host", port: 443, protocol: "https", realm: realm,
          authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let answer = try? await load.load(context, didReceive: URLAuthenticationChallenge(protectionSpace: space))
        answers.record("\(realm) \(answer?.credential?.user ?? "nobody")")
      }
    }
    let first = try await keeper.asked.next()
    #expect(keeper.asked.all.count == 1)
    first.handler(.useCredential, URLCredential(user: "one", password: "", persistence: .none))
    #expect(try await answers.next() == "\(first.realm ?? "") one")
    let second = try await keeper.asked.next()
    #expect(second.realm != first.realm)
    second.handler(.useCredential, URLCredential(user: "two", password: "", persistence: .none))
    #expect(try await answers.next() == "\(second.realm ?? "") two")
    session.invalidateAndCancel()
  }
}
