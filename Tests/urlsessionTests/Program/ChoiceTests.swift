import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// `pause`, `resume` and `cancel` of the transfers of an app and of all, as programs.
@Suite struct ChoiceTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Two downloads of this program and two of another app.
  private func downloads(from server: LoopbackServer) async throws -> (own: [Int], other: [Int]) {
    var (own, other): ([Int], [Int]) = ([], [])
    for name in ["a", "b"] {
      let url = server.url("/\(name)").absoluteString
      let started = try await sandbox.run("download", "--json", url, "-o", name)
      own.append(try #require(try started.json()["transfer"] as? Int, "\(started.errors)"))
      let another = try await sandbox.runOtherApp("download", "--json", url, "-o", "other-\(name)")
      other.append(try #require(try another.json()["transfer"] as? Int, "\(another.errors)"))
    }
    return (own, other)
  }

  /// The states of those that are not over, by their numbers.
  private func states() async throws -> [Int: String] {
    let list = try await sandbox.run("list", "--json").json()["transfers"] as? [[String: Any]]
    return (list ?? []).reduce(into: [:]) { states, transfer in
      guard let number = transfer["transfer"] as? Int, transfer["state"] as? String != "completed" else { return }
      let code = (transfer["waiting"] as? [String: Any])?["code"] as? String
      states[number] = code == "pausedByUser" ? "paused" : "goes on"
    }
  }

  private func expect(_ numbers: [Int], toBe word: String) async throws {
    let expected = Dictionary(numbers.map { ($0, word) }) { $1 }
    try await eventually("all to be: \(word)") { try await states() == expected }
  }

  @Test func allArePausedResumedAndCancelled() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let (own, other) = try await downloads(from: server)
    let all = (own + other).sorted()
    let paused = try await sandbox.run("pause", "--all")
    #expect(paused.status == 0, "\(paused.errors)")
    #expect(paused.lines.sorted() == all.map { "Transfer \($0): paused" })
    try await expect(all, toBe: "paused")
    let again = try await sandbox.run("pause", "--all")
    #expect(again.status == 0 && again.lines.allSatisfy { $0.hasSuffix("paused already") })
    let resumed = try await sandbox.run("resume", "--all", "-q")
    #expect(resumed.status == 0 && resumed.text.isEmpty)
    try await expect(all, toBe: "goes on")
    let cancelled = try await sandbox.run("cancel", "--all")
    #expect(cancelled.status == 0 && cancelled.lines.count == 4, "\(cancelled.errors)")
    #expect(try await states().isEmpty)
    let none = try await sandbox.run("cancel", "--all")
    #expect(none.status == 0 && none.text.isEmpty && none.errors == "No transfers.\n")
    await server.shutdown()
  }

  @Test func theTransfersOfOneAppAreChosenByItsProgram() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let (own, other) = try await downloads(from: server)
    #expect(try await sandbox.run("pause", "--app", sandbox.otherApp).status == 0)
    let expected = Dictionary(own.map { ($0, "goes on") } + other.map { ($0, "paused") }) { $1 }
    try await eventually("the app's to be paused") { try await states() == expected }
    let cancelled = try await sandbox.run("cancel", "--app", sandbox.otherApp)
    #expect(cancelled.status == 0, "\(cancelled.errors)")
    #expect(cancelled.lines.sorted() == other.sorted().map { "Transfer \($0): cancelled" })
    #expect(try await states().keys.sorted() == own)

    let none = try await sandbox.run("cancel", "--app", sandbox.otherApp)
    #expect(none.status == 66 && none.errors.contains("has no transfer that is not over"), "\(none.errors)")
    // A program that is not the user's tool has no say about another app.
    let refused = try await sandbox.runOtherApp("cancel", "--app", Sandbox.program("urlsession"))
    #expect(refused.status == 69 && refused.errors.contains("installed beside"), "\(refused.errors)")
    #expect(try await states().keys.sorted() == own)
    #expect(try await sandbox.run("cancel", "--app", Sandbox.program("urlsession")).status == 0)
    #expect(try await states().isEmpty)
    await server.shutdown()
  }
}
