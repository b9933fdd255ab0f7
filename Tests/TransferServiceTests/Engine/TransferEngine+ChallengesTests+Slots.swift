import Foundation
import LoopbackServer
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// Questions that are not answered.
extension TransferEngineChallengesTests {
  @Test(arguments: [(1, 6), (24, 1)])
  func anUnansweredQuestionKeepsNoOtherAppFromRunning(total: Int, perHost: Int) async throws {
    try await withEngine(
      serving: { request in
        request.path == "/secret" ? .status(401, fields: [("WWW-Authenticate", #"Basic realm="here""#)]) : .ok("in")
      }, { ($0.limits.total, $0.limits.perHost, $0.questionPatience) = (total, perHost, 0.02) }
    ) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([
        .download(server.url("/secret").absoluteString), .download(server.url("/more").absoluteString, task: 2),
      ])
      let question = try await app.next { if case .challenge(let question) = $0 { question } else { nil } }
      let other = fixture.client("/other")
      try await other.begin()
      _ = try await other.create([.download(server.url("/f").absoluteString)])
      #expect(try await other.nextEvent().download != nil)
      // The app itself has no more than one that runs.
      #expect(!server.requests.contains { $0.path == "/more" })
      // The question was not withdrawn.
      try await app.ask(
        .answerChallenge(
          ChallengeAnswered(session: "s", number: question.number, disposition: .performDefaultHandling)))
      #expect(try await app.nextEvent().download?.response?.status == 401)
    }
  }
}
