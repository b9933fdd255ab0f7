import Foundation
import LoopbackServer
import Testing
import UnixSignals

@testable import urlsession

@Suite struct InterruptionTests {
  @Test func signalRightAfterTheStartIsNotLost() async throws {
    let order = Recorder<String>()
    let ended = Gate()
    let interruption = await Interruption([.sigusr2]) { signal in
      order.record("ended by \(signal)")
      ended.open()
    } action: {
      order.record("action")
    }
    kill(getpid(), SIGUSR2)
    try await ended.wait(within: patience)
    #expect(order.all == ["action", "ended by SIGUSR2"])
    interruption.end()
  }
}
