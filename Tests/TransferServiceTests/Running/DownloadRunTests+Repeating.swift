import EveryVersion
import Foundation
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// One try at a time at a request that may do harm when it arrives twice.
extension DownloadRunTests {
  struct Sending: Sendable, CustomTestStringConvertible {
    let method: String
    var headers: [HeaderField] = []
    let isRepeatable: Bool
    var testDescription: String { headers.isEmpty ? method : "\(method) with \(headers.map(\.name))" }
  }

  static let requests = [
    Sending(method: "POST", isRepeatable: false), Sending(method: "PATCH", isRepeatable: false),
    Sending(method: "POST", headers: [HeaderField("idempotency-key", "\"1\"")], isRepeatable: true),
    Sending(method: "GET", isRepeatable: true),
  ]

  private func add(_ url: URL, _ request: Sending) throws -> TransferID {
    try add(.download(url.absoluteString, headers: request.headers, method: request.method))
  }

  func post(_ url: URL) throws -> TransferID { try add(url, Self.requests[0]) }

  private func isBegun(_ id: TransferID) throws -> Bool { try #require(try store.transfer(id)).head.isBegun }

  func expectNotRepeated(_ outcome: DownloadOutcome) {
    guard case .failed(let failure, nil, _) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(failure.code == URLError.Code.networkConnectionLost.rawValue && failure.message.contains("not repeated"))
  }

  /// A server that holds its answer back until the gate is open.
  private func serve(_ arrived: Gate, _ answer: Gate) async throws -> LoopbackServer {
    try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      arrived.open()
      try await answer.wait()
      return .ok("done")
    }
  }

  /// A suspension, a change of the request or the conditions of the machine can wait for the answer.
  @Test(arguments: requests) func aTryStopsWhereItsRequestMayBeMadeAgain(request: Sending) async throws {
    let (arrived, answer) = (Gate(), Gate())
    let server = try await serve(arrived, answer)
    let id = try add(server.url("/file"), request)
    let (outcome, _) = try await attempt(id) { run, _ in
      try await arrived.wait(within: patience)
      #expect(try isBegun(id) == !request.isRepeatable)
      run.stopIfRepeatable()
      if !request.isRepeatable { answer.open() }
    }
    answer.open()
    if request.isRepeatable {
      #expect(outcome.wasStopped, "\(outcome)")
    } else {
      #expect(finishedSize(outcome) == 4)
    }
    await server.shutdown()
  }

  /// The end of the service does not wait for an answer, nor does a cancellation.
  @Test(arguments: requests) func aRequestThatWasSentIsSentAgainWhereThatDoesNoHarm(request: Sending) async throws {
    let (arrived, answer) = (Gate(), Gate())
    let server = try await serve(arrived, answer)
    let id = try add(server.url("/file"), request)
    let (first, _) = try await attempt(id) { run, _ in
      try await arrived.wait(within: patience)
      run.stop()
    }
    #expect(first.wasStopped)
    answer.open()
    let (second, _) = try await attempt(id)
    if request.isRepeatable { #expect(finishedSize(second) == 4) } else { expectNotRepeated(second) }
    #expect(try isBegun(id) == !request.isRepeatable)
    await server.shutdown()
    #expect(server.heads.count == (request.isRepeatable ? 2 : 1))
  }

  /// A service that is killed leaves the note alone.
  @Test(arguments: requests) func aRequestThatCountsAsSentIsSentWhereThatDoesNoHarm(request: Sending) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    let id = try add(server.url("/file"), request)
    try store.setBegun(true, of: id)
    let outcome = try await attempt(id).outcome
    if request.isRepeatable { #expect(finishedSize(outcome) == 4) } else { expectNotRepeated(outcome) }
    #expect(server.heads.count == (request.isRepeatable ? 1 : 0))
    await server.shutdown()
  }

  @Test func aRequestIsNotSentBeforeTheQueueKnowsOfIt() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    let id = try post(server.url("/file"))
    try store.database.write {
      try $0.execute(
        sql: "CREATE TRIGGER refusing BEFORE UPDATE OF begun ON transfers BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    guard case .retry = try await attempt(id).outcome else {
      Issue.record("no other try")
      return
    }
    #expect(server.heads.isEmpty)
    try store.database.write { try $0.execute(sql: "DROP TRIGGER refusing") }
    #expect(finishedSize(try await attempt(id).outcome) == 4)
    await server.shutdown()
  }

  /// No connection has carried it.
  @Test func aRequestWithoutAConnectionIsMadeAgain() async throws {
    let port = try UnservedPort.shared.get()
    let id = try add(.download("http://127.0.0.1:\(port.number)/file", method: "POST"))
    let (outcome, _) = try await attempt(id)
    guard case .retry = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(try failureCode(outcome) == .cannotConnectToHost && !isBegun(id))
  }

  /// A server that sends the request elsewhere has not acted on it; one that names the place of the result has.
  @Test(arguments: [(303, false), (307, true)])
  func aRequestIsMadeAgainAfterARedirectThatKeepsIt(status: Int, isRepeated: Bool) async throws {
    let port = try UnservedPort.shared.get()
    let server = try await LoopbackServer.start { _ in
      .redirect(to: "http://127.0.0.1:\(port.number)/file", status: status)
    }
    let id = try post(server.url("/file"))
    let (outcome, _) = try await attempt(id)
    #expect(failureCode(outcome) == .cannotConnectToHost)
    if case .retry = outcome { #expect(isRepeated) } else { #expect(!isRepeated) }
    #expect(try isBegun(id) == !isRepeated)
    await server.shutdown()
  }

  @Test func aRequestWhoseAnswerBreaksOffIsNotMadeAgain() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in Reply([.reset]) }
    let id = try post(server.url("/file"))
    guard case .failed = try await attempt(id).outcome else {
      Issue.record("it is tried again")
      return
    }
    #expect(server.heads.count == 1)
    await server.shutdown()
  }
}
