import Foundation
import LoopbackServer
import Testing

/// A transfer crashes the service each time it begins.
@Suite(.fewAtATime) struct CrashTests {
  @Test func theTransferIsSetAsideAndTheOthersArrive() async throws {
    let file = FileResource(size: 1 << 20)
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run(["URLSESSIOND_CRASH_ON": "fatal"]) { home in
      let app = try await home.start()
      for label in ["first", "fatal", "last"] {
        try await app.tell(.download(url: server.url("/\(label)").absoluteString, label: label))
      }
      for label in ["first", "last"] {
        try await home.log().waitFor(.didComplete, label: label)
        home.expectArrived(label, file.version)
      }
      try await eventually("the one that crashes it to be set aside", within: patience, every: .milliseconds(200)) {
        try app.say(.logAcknowledged)
        return home.log().entries.contains { $0.text?.contains("is set aside") == true }
      }
      #expect(home.log().count(.didComplete, label: "fatal") == 0)
      try await app.tell(.cancel(label: "fatal"))
      let end = try await home.log().waitFor(.didComplete, label: "fatal")
      #expect(end.error == URLError.Code.cancelled.rawValue)
      #expect(!server.requests.contains { $0.path == "/fatal" })
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
