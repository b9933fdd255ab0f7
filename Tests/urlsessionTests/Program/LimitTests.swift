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
    let started = try await sandbox.run(
      "download", "--json", server.url("/y").absoluteString, "-o", "x", "--limit", "4M")
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
    #expect(limits.map { $0["scope"] as? String } == ["transfer", "transfer", "app", "service"])
    #expect(limits.map { $0["bytesPerSecond"] as? Int } == [500_000, 4_000_000, 1_000_000, 2_097_152])
    #expect(limits[2]["between"] as? String == "08:00-18:00")
    let session = try #require(shown["session"] as? String)
    #expect(try await sandbox.run("limit", "--session", session, "3M").status == 0)

    for subject in [["--program"], ["--all"], ["--session", session]] {
      let removed = try await sandbox.start(["limit"] + subject + ["none"]).ended()
      #expect(removed.status == 0 && removed.text.hasSuffix(": no limit\n"))
    }
    // The one that it began with stays.
    let removed = try await sandbox.run("limit", number, "none")
    #expect(removed.text == "Transfer \(number): no limit, but others hold: transfer 4 MB/s\n", "\(removed.errors)")
    #expect((try await sandbox.run("show", number, "--json").json()["limits"] as? [Any])?.count == 1)
    gate.open()
    #expect(try await sandbox.run("wait", number).status == 0)
    await server.shutdown()
  }

  @Test func anotherAppIsLimited() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let started = try await sandbox.runOtherApp("download", "--json", server.url("/y").absoluteString, "-o", "x")
    #expect(started.status == 0, "\(started.errors)")
    let (number, session) = try (
      "\(#require(try started.json()["transfer"] as? Int))", #require(try started.json()["session"] as? String)
    )
    let app = try #require(try await sandbox.run("show", number, "--json").json()["app"] as? String)
    #expect(app.hasSuffix("/other-app"))
    let limited = try await sandbox.run("limit", "--app", sandbox.otherApp, "1M")
    #expect(limited.text == "Transfers of \(app): 1 MB/s\n", "\(limited.errors)")
    let ofSession = try await sandbox.run("limit", "--app", app, "--session", session, "500K")
    #expect(ofSession.text == "Session \(session) of \(app): 500 KB/s\n", "\(ofSession.errors)")
    let limits = try await sandbox.run("show", number, "--json").json()["limits"] as? [[String: Any]]
    #expect(limits?.map { $0["scope"] as? String } == ["session", "app"])
    #expect(limits?.map { $0["bytesPerSecond"] as? Int } == [500_000, 1_000_000])

    let refused = try await sandbox.runOtherApp("limit", "--app", Sandbox.program("urlsession"), "1M")
    #expect(refused.status == 69 && refused.errors.contains("installed beside"), "\(refused.errors)")
    let unknown = try await sandbox.run("limit", "--app", "/none/such", "1M")
    #expect(unknown.status == 66 && unknown.errors.contains("no app with the program /none/such"), "\(unknown.errors)")
    await server.shutdown()
  }

  @Test func whatIsUnknownIsSaid() async throws {
    #expect(try await sandbox.run("limit", "999", "1M").status == 66)
    let session = try await sandbox.run("limit", "--session", "none.such", "1M")
    #expect(session.status == 66 && session.errors.contains("There is no session none.such"))
  }
}
