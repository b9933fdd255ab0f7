import Dispatch
import Foundation
import HTTPTransport
import LoopbackServer
import SystemServices
import Testing
import URLLoadingSystem

/// RFC 8305: names whose two families of addresses are answered differently, or not at all.
@Suite struct HappyEyeballsTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let absent = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))
  private static let silent = NameAnswer.failure(NameFailure(reason: "no answer for now", isAbsence: false))

  private let asked = Recorder<NameQuestion>()

  private func session(_ answer: @escaping NameLookups.Ask) -> URLSession {
    session(
      NameLookups(on: Self.threads) { [asked] in
        asked.record($0)
        return answer($0)
      })
  }

  private func session(_ names: NameLookups) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.names = names
    return URLSession(configuration: configuration)
  }

  /// A name server that never says whether there are addresses of IPv6 keeps nobody from those of IPv4.
  @Test func oneFamilyIsEnough() async throws {
    let release = DispatchSemaphore(value: 0)
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let session = session { question in
      guard question.family == .v6 else { return .success([NetworkAddress([127, 0, 0, 1])]) }
      release.wait()
      return Self.silent
    }
    let (data, _) = try await session.data(from: server.url("/", host: "half.test"))
    #expect(data == Data("here".utf8))
    _ = try await asked.first(2)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    release.signal()
  }

  /// Where nothing listens on one family's address the other one's is tried.
  @Test func theOtherFamilyIsTriedWhereTheFirstLeadsNowhere() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let session = session { question in
      let nobody = NetworkAddress([UInt8](repeating: 0, count: 15) + [1])
      return .success([question.family == .v6 ? nobody : NetworkAddress([127, 0, 0, 1])])
    }
    let (data, _) = try await session.data(from: server.url("/", host: "both.test"))
    #expect(data == Data("here".utf8))
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Two connections are being opened, neither answered yet, and either may be the first to be: TLS is that of the one
  /// that is used.
  @Test(arguments: [0, 1]) func theHandshakeIsThatOfTheConnectionThatIsUsed(_ winner: Int) async throws {
    let tls = ServerTLS(try TestCertificates.shared().wildcard)
    var options = LoopbackServer.Options()
    let gates = [Gate(), Gate()]
    options.accepting = gates[0]
    let first = try await LoopbackServer.start(tls: tls, options: options) { _ in .ok("0") }
    options.accepting = gates[1]
    options.host = "127.0.0.2"
    options.port = first.port
    let second = try await LoopbackServer.start(tls: tls, options: options) { _ in .ok("1") }
    let delegate = RecordingDelegate()
    let configuration = URLSessionConfiguration.loopback
    configuration.names = NameLookups(on: Self.threads) { [asked] question in
      asked.record(question)
      guard question.family == .v4 else { return Self.absent }
      return .success([NetworkAddress([127, 0, 0, 1]), NetworkAddress([127, 0, 0, 2])])
    }
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let task = Task { try await session.data(from: first.url("/", host: "two.loopback.example")) }
    // The second connection is begun a quarter of a second after the first (RFC 8305 §8).
    _ = try await asked.first(2)
    let since = ContinuousClock.now
    try await eventually("both connections to be begun") { ContinuousClock.now - since > .milliseconds(700) }
    gates[winner].open()
    let (data, _) = try await task.value
    #expect(String(decoding: data, as: UTF8.self) == "\(winner)")
    let transaction = try #require(try await delegate.metrics.next().transactionMetrics.first)
    #expect(transaction.negotiatedTLSProtocolVersion == .TLSv13)
    #expect(transaction.negotiatedTLSCipherSuite != nil)
    gates[1 - winner].open()
    session.invalidateAndCancel()
    for server in [first, second] {
      try await server.expectNoOpenConnections()
      await server.shutdown()
    }
  }

  /// Every answer is past its time at once, and from the second load on the name servers say nothing.
  @Test(arguments: [true, false]) func anOldAddressIsUsedWhereTheRequestAllowsIt(_ isAllowed: Bool) async throws {
    let release = DispatchSemaphore(value: 0)
    let isSilent = Gate()
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let memory = NameMemory(answerLifetime: .zero)
    let names = NameLookups(on: Self.threads, memory: memory) { [asked] question in
      asked.record(question)
      if isSilent.isOpen { release.wait() }
      return question.family == .v4 ? .success([NetworkAddress([127, 0, 0, 1])]) : Self.absent
    }
    let first = session(names)
    var request = URLRequest(url: server.url("/", host: "old.test"))
    _ = try await first.data(for: request)
    _ = try await asked.first(2)
    first.invalidateAndCancel()
    isSilent.open()
    request.allowsPersistentDNS = isAllowed
    let second = session(names)
    let task = Task { [request] in try await second.data(for: request).0 }
    // The answers are asked for in either case.
    // That of the absent family may still be under way from the first load, and serve both.
    _ = try await asked.first(3)
    if isAllowed {
      #expect(try await task.value == Data("here".utf8))
    } else {
      #expect(names.waiterCount > 0)
    }
    for _ in 0..<4 { release.signal() }
    #expect(try await task.value == Data("here".utf8))
    second.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Absent in both families: asked once more without regard to what the machine has. No answer: not asked again.
  @Test(arguments: [(true, 4), (false, 2)]) func aNameWithoutAddressFailsOnce(_ isAbsent: Bool, _ questions: Int)
    async throws
  {
    let session = session { _ in isAbsent ? Self.absent : Self.silent }
    let url = try #require(URL(string: "http://nowhere.test/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    // A machine without any route has no network to look names up in.
    #expect(error?.code == .cannotFindHost || error?.code == .notConnectedToInternet)
    if error?.code == .cannotFindHost {
      #expect(error?.localizedDescription.contains(isAbsent ? "no such name" : "no answer for now") == true)
    }
    #expect(asked.count == questions)
    #expect(asked.all.filter(\.onlyUsableFamilies).count == 2)
    session.invalidateAndCancel()
  }

  /// Loads of one host that begin together ask together.
  @Test func loadsThatBeginTogetherAskTogether() async throws {
    let release = DispatchSemaphore(value: 0)
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let names = NameLookups(on: Self.threads) { [asked] question in
      asked.record(question)
      release.wait()
      return question.family == .v4 ? .success([NetworkAddress([127, 0, 0, 1])]) : Self.absent
    }
    let session = session(names)
    let url = server.url("/", host: "one.test")
    try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<4 { group.addTask { try await session.data(from: url).0 } }
      try await eventually("each to wait for both families") { names.waiterCount == 8 }
      // One question a family; a second one where the loads took their time.
      #expect(asked.count <= 4)
      for _ in 0..<8 { release.signal() }
      for try await data in group { #expect(data == Data("here".utf8)) }
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
