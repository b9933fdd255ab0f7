import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// `urlsession limit`, with a transfer service of the test's own.
struct LimitTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test func limitsAreSetShownAndRemoved() async throws {
    let gate = Gate()
    let server = try await LoopbackServer.start { _ in Reply.ok("body").preceded(by: [.waitFor(gate)]) }
    let started = try await sandbox.run("download", "--json", server.url("/y").absoluteString, "-o", "x")
    let number = "\(try #require(try started.json()["transfer"] as? Int))"
    let limited = try await sandbox.run("limit", number, "500K")
    #expect(limited.status == 0, "\(limited.errors)")
    #expect(limited.text == "Transfer \(number): 500 KB/s\n")
    #expect(try await sandbox.run("limit", "--program", "1M", "--between", "08:00-18:00", "-q").text.isEmpty)
    // The service was built beside the command, so that it may limit everything.
    let all = try await sandbox.run("limit", "--all", "2MiB/s")
    #expect(all.status == 0, "\(all.errors)")
    let shown = try await sandbox.run("show", number, "--json").json()
    let limits = try #require(shown["limits"] as? [[String: Any]])
    #expect(limits.map { $0["scope"] as? String } == ["transfer", "app", "service"])
    #expect(limits.map { $0["bytesPerSecond"] as? Int } == [500_000, 1_000_000, 2_097_152])
    #expect(limits[1]["between"] as? String == "08:00-18:00")
    let session = try #require(shown["session"] as? String)
    #expect(try await sandbox.run("limit", "--session", session, "3M").status == 0)

    for subject in [[number], ["--program"], ["--all"], ["--session", session]] {
      let removed = try await sandbox.start(["limit"] + subject + ["none"]).ended()
      #expect(removed.status == 0 && removed.text.hasSuffix(": no limit\n"))
    }
    #expect((try await sandbox.run("show", number, "--json").json()["limits"] as? [Any])?.isEmpty == true)
    gate.open()
    #expect(try await sandbox.run("wait", number).status == 0)
    await server.shutdown()
  }

  @Test func whatIsUnknownIsSaid() async throws {
    #expect(try await sandbox.run("limit", "999", "1M").status == 66)
    let session = try await sandbox.run("limit", "--session", "none.such", "1M")
    #expect(session.status == 66 && session.errors.contains("There is no session none.such"))
  }
}
