import Foundation
import HTTPSemantics
import LoopbackServer
import NIOCore
import SystemFakes
import Testing
import TransferProtocol

@testable import HTTPTransport
@testable import TransferService
@testable import URLLoadingSystem

@Suite struct RunPacingTests {
  /// An exchange that notes its windows. Confined to the load's loop.
  private final class Exchange: HTTPExchange, @unchecked Sendable {
    let windows = Recorder<Int?>()
    let record = ExchangeRecord(connection: ConnectionRecord(), isReusedConnection: false)
    var trailers: HTTPFields? { nil }

    func limitReceiveWindow(_ bytes: Int?) { windows.record(bytes) }

    func send(head: HTTPRequestHead, body: RequestBodyFraming) {}
    func write(_ bytes: ByteBuffer) {}
    func finish(trailers: HTTPFields?) {}
    func takeHead() -> HTTPResponseHead? { nil }
    func takeBody() -> ResponseBodyPart? { nil }
    func whenReadable(_ action: @escaping () -> Void) {}
    func end() {}
    func abort(_ error: any Error) {}
  }

  /// A run may begin again with another request.
  @Test func theWindowIsSetForEachRequestOfARun() async throws {
    let fixture = try StoreFixture()
    let id = try fixture.create(1, session: fixture.session().id)[0]
    let stored = try #require(try fixture.store.transfer(id))
    let clock = FakeClock()
    let pace = TransferPace(gate: BandwidthGate(clock: clock), path: [.service], clock: clock, yields: true)
    for _ in 1...2 {
      clock.advance(by: 0.1)
      if pace.count(100_000) { pace.measured(0.02) }
    }
    let window = try #require(pace.receiveWindow)
    let client = ServiceLoadClient(
      DownloadJob(stored, options: SessionOptions(), remainingTime: 600), credentials: URLCredentialStorage(),
      report: { _ in })
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    let transport = HTTPTransport(configuration: configuration.transport)
    defer { transport.shutDown() }
    let context = LoadContext(
      for: URL(string: "http://h/"), configuration: configuration, transport: transport, client: client)
    let exchanges = [Exchange(), Exchange()]
    let ends = Recorder<Result<Void, any Error>>()
    context.start { context in
      do {
        let pacing = try #require(RunPacing(pace, of: context))
        client.pacing = pacing
        for exchange in exchanges {
          context.use(exchange, isPrioritized: false)
          client.load(context, sendsOver: exchange)
          for _ in 1...3 { try await pacing.hold(after: 1) }
        }
        ends.record(.success(()))
      } catch { ends.record(.failure(error)) }
      context.control.finish()
    }
    try await ends.next().get()
    #expect(exchanges.map(\.windows.all) == [[window], [window]])
    try fixture.store.close()
  }
}
