import HTTPSemantics
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

/// Servers that fall silent: the rule, and a connection.
@Suite struct HTTP2LivenessTests {
  @Test func silenceIsAnsweredWithAPingAndThenGivenUp() {
    let start = NIODeadline.uptimeNanoseconds(0)
    var liveness = HTTP2Liveness(interval: .seconds(15), patience: .seconds(10), at: start)
    var actions = [liveness.check(at: start + .seconds(14)), liveness.check(at: start + .seconds(15))]
    actions += [liveness.check(at: start + .seconds(24)), liveness.check(at: start + .seconds(25))]
    #expect(actions == [.wait(until: start + .seconds(15)), .ping, .wait(until: start + .seconds(25)), .giveUp])
  }

  /// A server that answers is asked less and less; a sign of life starts anew.
  @Test func pingsBecomeRarerWhileTheyAreAnswered() {
    var now = NIODeadline.uptimeNanoseconds(0)
    var liveness = HTTP2Liveness(interval: .seconds(15), patience: .seconds(10), at: now)
    var waits: [Int64] = []
    for _ in 0..<5 {
      waits.append((liveness.nextCheck - now).nanoseconds / 1_000_000_000)
      now = liveness.nextCheck
      #expect(liveness.check(at: now) == .ping)
      liveness.acknowledged(at: now)
    }
    #expect(waits == [15, 60, 240, 300, 300])
    liveness.heard(at: now)
    #expect(liveness.nextCheck == now + .seconds(15))
  }

  /// Two requests one after the other; the second one's outcome.
  private func second(
    _ server: LoopbackServer, _ transport: HTTPTransport, _ key: ConnectionKey
  ) async -> Result<Int, any Error> {
    let executor = transport.executor(forHost: key.host)
    return await withTaskExecutorPreference(executor) {
      var last: Result<Int, any Error> = .success(0)
      for path in ["/first", "/second"] {
        let ticket = transport.lease(for: key, priority: 0.5, caller: executor)
        do {
          let exchange = try await ticket.exchange()
          defer { exchange.end() }
          let head = HTTPRequestHead(method: "GET", target: path, authority: "localhost", scheme: "https")
          try exchange.send(head: head, body: .none)
          last = .success(try await exchange.nextHead().status)
          while try await exchange.nextChunk() != nil {}
        } catch { last = .failure(error) }
      }
      return last
    }
  }

  @Test func aServerThatAnswersPingsIsWaitedForAndADeadOneGivenUp() async throws {
    let asked = Recorder<UInt8>()
    let server = try await HTTP2Peer.start { peer in
      try await peer.greet()
      var requests = 0
      while let frame = try await peer.read() {
        if frame.type == 1 {
          requests += 1
          if requests == 1 { try await peer.answer(frame.stream, "first") }
        } else if frame.type == 6 {
          // Of the questions during the second request only the first is answered.
          if requests == 2 { asked.record(frame.flags) }
          if asked.count < 2 { try await peer.write(.init(type: 6, flags: 1, payload: frame.payload)) }
        }
      }
    }
    var configuration = TransportConfiguration()
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    configuration.http2SilenceBeforePing = .milliseconds(200)
    configuration.http2PingPatience = .seconds(8)
    let transport = HTTPTransport(configuration: configuration)
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    let outcome = await second(server, transport, key)
    guard case .failure(TransportError.closedBeforeResponse(wasReused: true)) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    let first = try await asked.next()
    #expect(first == 0)
    transport.shutDown()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
