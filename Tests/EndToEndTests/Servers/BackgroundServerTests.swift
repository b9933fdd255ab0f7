import Foundation
import LoopbackServer
import RealServers
import Testing
import TransferScript

/// Background downloads from servers that people run.
@Suite(.fewAtATime, .enabled(if: ServerSite.areAllHere, "\(ServerSite.advice)"))
struct BackgroundServerTests {
  private func run(_ test: ServerCase, _ body: (Home, ServerSite) async throws -> Void) async throws {
    let site = try await ServerSite.start(test.kind)
    // The app's environment says which authority is trusted; the service is told, and has no such variable.
    let variables = ["SSL_CERT_FILE": try TestCertificates.shared().authorityFile]
    try await Home.run(variables) { home in try await body(home, site) }
    await site.server.stop()
  }

  @Test(arguments: ServerCase.all) func largeRedirectedPackedAndMissing(test: ServerCase) async throws {
    try await run(test) { home, site in
      let app = try await home.start()
      for path in ["/moved", "/text.txt", "/missing"] {
        try await app.tell(
          .download(url: site.url(path, secure: test.isSecure).absoluteString, label: String(path.dropFirst())))
      }
      try await home.log().waitFor(.didComplete, count: 3)
      home.expectArrived("moved", ServerSite.large)
      let end = home.log().entries.last { $0.label == "moved" }
      #expect(end?.responseURL == site.url("/large", secure: test.isSecure).absoluteString)
      #expect(FileManager.default.contents(atPath: home.app().file("text.txt")) == Data(ServerSite.text.utf8))
      let missing = home.log().entries.last { $0.label == "missing" }
      #expect(missing?.kind == .didComplete && missing?.status == 404 && missing?.error == nil)
      try await home.expectNothingKept()
      try await app.quit()
    }
  }

  /// Its last part comes slowly: the service is killed on the way and goes on where it was.
  @Test(arguments: ServerCase.all) func theServiceIsKilledMidway(test: ServerCase) async throws {
    try await run(test) { home, site in
      let app = try await home.start()
      try await app.tell(.download(url: site.url("/slow", secure: test.isSecure).absoluteString, label: "slow"))
      try await app.tell(.flush)
      // Of 12 MiB at least 4 are committed.
      try await eventually("12 MiB in the file") { home.partialSize() >= 12 << 20 }
      try await home.killService()
      try await home.log().waitFor(.didComplete, label: "slow")
      home.expectArrived("slow", ServerSite.slow)
      // `… "GET /slow HTTP/1.1" 206 3145728 …`, or HTTP/2.0: one answer with the rest, which is not nearly all of it.
      var rests: [Int64] = []
      try await eventually("the rest in the access log: \(site.server.accessLog)") {
        rests = site.server.accessLog.matches(of: /"GET \/slow HTTP\/[0-9.]+" 206 ([0-9]+)/).compactMap { Int64($0.1) }
        return !rests.isEmpty
      }
      #expect(rests.count == 1 && rests.allSatisfy { 0 < $0 && $0 <= 12 << 20 }, "\(rests)")
      try await home.expectNothingKept()
      try await app.quit()
    }
  }
}
