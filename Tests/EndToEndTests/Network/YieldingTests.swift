import ChildProcess
import Foundation
import HTTPTransport
import LoopbackServer
import Testing
import TransferScript

/// A background transfer that can wait, over a link that other traffic needs as well (RFC 6817).
@Suite(
  .fewAtATime, .enabled(if: Namespaces.obstacleToLinks == nil, "\(Namespaces.obstacleToLinks ?? "")"),
  .enabled(if: ReceiveWindow.canBeLimited, "the kernel is older than Linux 6.7"))
struct YieldingTests {
  /// Of two downloads that do not yield the one that was there first has two to four times as many bytes as the other.
  @Test func aDownloadThatCanWaitLeavesTheLinkToAnotherAndTakesItAgain() async throws {
    try await Home.run { home in
      let link = try await NetworkLink(folder: home.path, size: 256 << 20)
      defer { link.end() }
      try home.plan { $0.isDiscretionary = true }
      let app = try await home.start(in: link.place)
      try await app.tell(.download(url: link.url, label: "f"))
      // It has filled the queue, and has met its own delay.
      try await eventually("the background download on the link") { try link.carried() >= 3 << 20 }

      let count: Int64 = 16 << 20
      let before = try link.carried()
      let fetch = link.place + [Programs.path("connectivity-probe"), "fetch", link.url, "\(count)"]
      let run = try await ProgramRun.run(fetch[0], Array(fetch.dropFirst()))
      #expect(run.status == 0 && run.output == "\(count)\n", "\(run.errors)")
      let others = try link.carried() - before - count
      #expect(count > others, "\(others) bytes of heads and of the background, while \(count) were loaded")

      try await expectUse(of: link)
      try await app.tell(.cancel(label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      try await home.expectNothingKept()
      try await app.quit()
    }
  }

  /// Waits until a stretch of bytes takes the link at half of its rate or more.
  private func expectUse(of link: NetworkLink) async throws {
    let stretch: Int64 = 512 << 10
    var (bytes, time) = (try link.carried(), ContinuousClock.now)
    try await eventually("the background download to use the link again") {
      let (now, end) = (try link.carried(), ContinuousClock.now)
      guard now - bytes >= stretch else { return false }
      let rate = Double(now - bytes) / ((end - time) / .seconds(1))
      (bytes, time) = (now, end)
      return rate >= link.properties.bytesPerSecond / 2
    }
  }
}
