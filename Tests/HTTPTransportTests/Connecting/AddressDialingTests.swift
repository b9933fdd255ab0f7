import Dispatch
import LoopbackServer
import NIOCore
import SystemFakes
import SystemServices
import Testing

@testable import HTTPTransport

/// Connections to names whose answers the test scripts, over the sockets of this machine.
@Suite struct AddressDialingTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let absent = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))

  private let outcomes = Recorder<Result<SocketAddress?, any Error>>()

  /// 127.0.0.n
  private static func loopback(_ number: UInt8) -> NetworkAddress { NetworkAddress([127, 0, 0, number]) }

  private func connect(
    to port: Int, _ names: NameLookups
  ) async throws -> (loop: any EventLoop, attempt: ConnectionAttempt) {
    try await connect(to: ConnectionKey(scheme: .http, host: "a.example", port: port), names, TransportConfiguration())
  }

  private func connect(
    to key: ConnectionKey, _ names: NameLookups, _ configuration: TransportConfiguration
  ) async throws -> (loop: any EventLoop, attempt: ConnectionAttempt) {
    var configuration = configuration
    configuration.names = names
    let loop = LoopExecutor.all[0].loop
    let connector = Connector(loop: loop, tls: TLSContexts(configuration: configuration), configuration)
    let attempt = try await loop.submit { [outcomes] in
      connector.connect(to: key) { result in
        switch result {
        case .success(let established):
          outcomes.record(.success(established.record.remoteAddress))
          established.discard()
        case .failure(let failure): outcomes.record(.failure(failure.cause))
        }
      }
    }.get()
    return (loop, attempt)
  }

  private func names(_ answer: @escaping NameLookups.Ask) -> NameLookups { NameLookups(on: Self.threads, ask: answer) }

  private func failure() async throws -> String {
    switch try await outcomes.next() {
    case .success(let address): "connected to \(address.map { "\($0)" } ?? "nothing")"
    case .failure(let error): "\(error)"
    }
  }

  @Test func theFirstAddressThatAnswersIsUsed() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = names { $0.family == .v4 ? .success((2...4).map(Self.loopback) + [Self.loopback(1)]) : Self.absent }
    let (loop, attempt) = try await connect(to: server.port, names)
    let address = try await outcomes.next().get()
    #expect(address?.ipAddress == "127.0.0.1")
    let isDone = try await loop.submit { attempt.dialing == nil }.get()
    #expect(isDone)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The reason of the first address is told when none answers.
  @Test func everyAddressIsTriedBeforeTheConnectionFails() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = names { $0.family == .v4 ? .success((2...4).map(Self.loopback)) : Self.absent }
    _ = try await connect(to: server.port, names)
    let expected = TransportError.cannotConnect(
      host: "a.example", port: server.port, reason: "Connection refused")
    #expect(try await failure() == "\(expected)")
    await server.shutdown()
  }

  /// The name is too long for TLS, whichever address it leads to.
  @Test func aConnectionThatCanNotBePreparedFailsWithThatReason() async throws {
    let names = names { $0.family == .v4 ? .success((2...4).map(Self.loopback)) : Self.absent }
    let key = ConnectionKey(scheme: .https, host: String(repeating: "a", count: 300), port: 1)
    _ = try await connect(to: key, names, TransportOnLoop.trusting())
    let failure = await #expect(throws: TransportError.self) { _ = try await outcomes.next().get() }
    guard case .tlsHandshakeFailed = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test func noOtherAddressIsTriedWhereTheReasonHoldsForAll() async throws {
    struct Cause: Error {}
    let names = names { $0.family == .v4 ? .success((2...4).map(Self.loopback)) : Self.absent }
    let dialled = Recorder<SocketAddress>()
    let loop = LoopExecutor.all[0].loop
    let outcome = try await loop.flatSubmit {
      let key = ConnectionKey(scheme: .http, host: "a.example", port: 1)
      let attempt = ConnectionAttempt(loop: loop, key: key, networks: FakeNetworks(), names: names)
      let dialing = AddressDialing(attempt, limit: .minutes(2)) {
        dialled.record($0)
        return loop.makeFailedFuture(AddressDialing.Unprepared(cause: Cause()))
      }
      return dialing.start().map { _ in "connected" }.flatMapErrorThrowing { error in
        let failure = error as? AddressDialing.Unprepared
        return failure?.cause is Cause ? "the cause" : "\(error)"
      }
    }.get()
    #expect(outcome == "the cause" && dialled.count == 1)
  }

  @Test func aNameWithoutAddressIsNotFound() async throws {
    _ = try await connect(to: 1, names { _ in Self.absent })
    let expected = TransportError.hostNotFound(host: "a.example", reason: "no such name")
    #expect(try await failure() == "\(expected)")
  }

  @Test func anEmptyAnswerIsNoAddress() async throws {
    _ = try await connect(to: 1, names { _ in .success([]) })
    let expected = TransportError.hostNotFound(host: "a.example", reason: "the name has no address")
    #expect(try await failure() == "\(expected)")
  }

  /// By the time of the second connection the address that comes first would take it too.
  @Test func theAddressThatWonIsTriedFirst() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = names { $0.family == .v4 ? .success([Self.loopback(2), Self.loopback(1)]) : Self.absent }
    _ = try await connect(to: server.port, names)
    #expect(try await outcomes.next().get()?.ipAddress == "127.0.0.1")
    var options = LoopbackServer.Options()
    (options.host, options.port) = ("127.0.0.2", server.port)
    let other = try await LoopbackServer.start(options: options) { _ in .ok("there") }
    _ = try await connect(to: server.port, names)
    #expect(try await outcomes.next().get()?.ipAddress == "127.0.0.1")
    for server in [server, other] {
      try await server.expectNoOpenConnections()
      await server.shutdown()
    }
  }

  /// The server has moved since the last lookup.
  @Test func nameServersAreAskedWhereAddressesThatWereKeptLeadNowhere() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = names { $0.family == .v4 ? .success([Self.loopback(1)]) : Self.absent }
    keep([Self.loopback(2)], in: names)
    _ = try await connect(to: server.port, names)
    #expect(try await outcomes.next().get()?.ipAddress == "127.0.0.1")
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Addresses that were kept may belong to nothing by now, which does not even refuse.
  @Test func nameServersAreAskedWhereAddressesThatWereKeptDoNotAnswer() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let full = try FullListener(port: server.port, address: "127.0.0.2")
    let names = names { $0.family == .v4 ? .success([Self.loopback(1)]) : Self.absent }
    keep([Self.loopback(2)], in: names)
    _ = try await connect(to: server.port, names)
    #expect(try await outcomes.next().get()?.ipAddress == "127.0.0.1")
    full.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Addresses that have failed are not tried again.
  @Test func nameServersAreAskedOnce() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let asked = Recorder<NameQuestion>()
    let names = names { question in
      asked.record(question)
      return question.family == .v4 ? .success([Self.loopback(2)]) : Self.absent
    }
    keep([Self.loopback(2)], in: names)
    _ = try await connect(to: server.port, names)
    let expected = TransportError.cannotConnect(
      host: "a.example", port: server.port, reason: "Connection refused")
    #expect(try await failure() == "\(expected)")
    #expect(asked.all.count { $0.family == .v4 } == 1)
    await server.shutdown()
  }

  private func keep(_ addresses: [NetworkAddress], in names: NameLookups) {
    names.memory.note(
      .success(addresses), to: NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true),
      askedIn: names.memory.circumstances(), at: .now())
  }

  @Test func aServerThatRefusesEveryAddressHasNoWinner() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = names { $0.family == .v4 ? .success([Self.loopback(2)]) : Self.absent }
    let key = NameMemory.Server(ConnectionKey(scheme: .http, host: "a.example", port: server.port))
    names.memory.noteWinner(Self.loopback(2), of: key)
    _ = try await connect(to: server.port, names)
    await #expect(throws: TransportError.self) { _ = try await outcomes.next().get() }
    #expect(names.memory.winner(of: key) == nil)
    await server.shutdown()
  }

  /// Nothing waits for answers any more, though name servers may still give them.
  @Test(arguments: [AddressFamily.v4, nil]) func isGivenUpWhileNamesAreLookedUp(_ answered: AddressFamily?)
    async throws
  {
    let asked = Recorder<NameQuestion>()
    let release = DispatchSemaphore(value: 0)
    let names = names { question in
      asked.record(question)
      if question.family == answered { return Self.absent }
      release.wait()
      return .success([Self.loopback(1)])
    }
    let (loop, attempt) = try await connect(to: 1, names)
    _ = try await asked.first(2)
    try await loop.submit { attempt.giveUp() }.get()
    #expect(try await failure() == "\(TransportError.shutDown)")
    #expect(names.waiterCount == 0)
    for _ in 0..<2 { release.signal() }
    let isDone = try await loop.submit { attempt.dialing == nil }.get()
    #expect(isDone && outcomes.count == 1)
  }

  /// A family whose lookup never ends keeps no connection from being made, and is not waited for behind it.
  @Test(arguments: AddressFamily.allCases) func oneFamilyIsEnough(_ answered: AddressFamily) async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let release = DispatchSemaphore(value: 0)
    let names = names { question in
      // The kernel takes what is mapped to IPv6 for IPv4.
      if question.family == answered {
        return .success([answered == .v4 ? Self.loopback(1) : Self.mapped(Self.loopback(1))])
      }
      release.wait()
      return Self.absent
    }
    _ = try await connect(to: server.port, names)
    _ = try await outcomes.next().get()
    #expect(names.waiterCount == 0)
    release.signal()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private static func mapped(_ address: NetworkAddress) -> NetworkAddress {
    NetworkAddress([UInt8](repeating: 0, count: 10) + [0xff, 0xff] + address.bytes)
  }
}
