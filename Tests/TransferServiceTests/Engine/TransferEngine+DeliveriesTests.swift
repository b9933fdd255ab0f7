import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// The files that are made ready before their events are sent.
@Suite struct TransferEngineDeliveriesTests {
  /// The app has heard of it in an earlier life of the service, whose end came before the acknowledgement.
  @Test func anEventThatIsAcknowledgedWhileItsFileIsMadeReadyHoldsNoOtherUp() async throws {
    try await withServer({ _ in .ok("abc") }) { server in
      try await withEngine { fixture in
        let client = fixture.client()
        try await client.begin()
        _ = try await client.create([.download(server.url("/a").absoluteString)])
        let events = [try await client.nextEvent(), try await client.nextEvent()]
        let life = try await fixture.nextLife()
        let again = life.client()
        try await again.greet()
        again.tell(.attach(Attach(session: "s")))
        again.tell(.startDelivery(SessionReference(session: "s")))
        again.tell(.acknowledge(Acknowledge(session: "s", sequences: events.map(\.sequence))))
        _ = try await again.create([.download(server.url("/b").absoluteString, task: 2)])
        while try await again.nextEvent().taskIdentifier != 2 {}
      }
    }
  }
}
