import Foundation
import LoopbackServer
import Testing
import TransferScript

/// A service whose app is there and has nothing to do for it.
@Suite(.fewAtATime) struct RestingServiceTests {
  /// Seconds until the next timers of a process are due, as the kernel tells of its descriptors.
  private func timers(of pid: pid_t) throws -> [Double] {
    let folder = "/proc/\(pid)/fdinfo"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
      // A descriptor may be closed meanwhile.
      guard let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8),
        let line = text.split(separator: "\n").first(where: { $0.hasPrefix("it_value:") })
      else { return nil }
      let numbers = line.split { !$0.isNumber }.compactMap { Double($0) }
      guard numbers.count == 2, numbers[0] > 0 || numbers[1] > 0 else { return nil }
      return numbers[0] + numbers[1] / 1e9
    }
  }

  private func expectRest(of pid: pid_t, _ name: String) async throws {
    var found: [Double] = []
    var looks = 0
    do {
      // 200 looks take longer than a second: one of them may fall between the end of a timer and its next beginning.
      try await eventually("a process without a timer that is due soon") {
        found = try timers(of: pid)
        looks = found.allSatisfy { $0 > 1.5 } ? looks + 1 : 0
        return looks > 200
      }
    } catch {
      Issue.record("\(name): \(found)")
      throw error
    }
  }

  @Test func noTimerWakesItEachSecond() async throws {
    let server = try await LoopbackServer.start { _ in .ok("content") }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      let worker = try await home.service()
      let supervisor = try #require(home.processes().first { $0.role == .supervisor }?.pid)
      try await expectRest(of: worker, "the worker")
      try await expectRest(of: supervisor, "the supervisor")
      // The next one reads the queue that is there.
      try await home.killService()
      #expect(try await app.tasks().isEmpty)
      try await expectRest(of: home.service(otherThan: worker), "the next worker")
      try await app.quit()
    }
    await server.shutdown()
  }
}
