import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService
@testable import URLLoadingSystem

/// Tries whose file is compared with what the app expects, and tries that the app limits.
extension DownloadRunTests {
  /// The digest of the first bytes of a pattern.
  static func sha256(_ pattern: BytePattern = BytePattern(), count: Int64) throws -> Data {
    let path = NSTemporaryDirectory() + "digest-\(UUID().uuidString)"
    defer { unlink(path) }
    try pattern.write(toFile: path, count: count)
    var digest = StreamedDigest()
    while digest.count < count { digest = try digest.addingSlice(ofFileAt: path, upTo: count) }
    return digest.value
  }

  private static func expecting(_ url: URL, _ expectation: ContentExpectation) -> TransferDescription {
    var description = TransferDescription.download(url.absoluteString)
    description.expectation = expectation
    return description
  }

  private func difference(_ outcome: DownloadOutcome) -> MismatchDescription? {
    guard case .failed(let failure, _, _) = outcome else {
      Issue.record("\(outcome)")
      return nil
    }
    #expect(failure.code == URLError.Code.cannotDecodeContentData.rawValue)
    return failure.mismatch
  }

  private func expectNothingIsKept(of id: TransferID) throws {
    #expect(try store.transfer(id)?.head.committedOffset == 0)
    #expect(try disk.size(of: files.partial(id)) ?? 0 == 0)
    #expect(try disk.size(of: files.complete(id)) == nil)
  }

  @Test func theExpectedFileArrivesInSeveralTries() async throws {
    let size = 5 * Self.mebi
    let resource = FileResource(size: size)
    resource.update { $0.cuts = [.after(3 * Self.mebi)] }
    let server = try await serve(resource)
    let digest = try Self.sha256(resource.version.pattern, count: size)
    let id = try add(Self.expecting(server.url("/file"), .init(sha256: digest, byteCount: size)))
    guard case .retry = try await attempt(id).outcome else { return #expect(Bool(false), "not cut") }
    let (outcome, reports) = try await attempt(id)
    #expect(finishedSize(outcome) == size)
    #expect(resumedAt(reports).count == 1)
    await server.shutdown()
  }

  @Test func aFileWithAnotherDigestIsRemovedAndItsTransferFails() async throws {
    let resource = FileResource(size: Self.mebi)
    let server = try await serve(resource)
    let expected = Data(repeating: 7, count: 32)
    let id = try add(Self.expecting(server.url("/file"), .init(sha256: expected)))
    let (outcome, _) = try await attempt(id)
    let mismatch = try #require(difference(outcome))
    #expect(mismatch.expectedSHA256 == expected)
    #expect(try mismatch.receivedSHA256 == Self.sha256(resource.version.pattern, count: Self.mebi))
    guard case .failed(let failure, _, _) = outcome else { return }
    #expect(failure.message.contains(String(repeating: "07", count: 32)))
    #expect(server.requests.count == 1)
    try expectNothingIsKept(of: id)
    await server.shutdown()
  }

  /// A server that gives different files the same entity tag.
  @Test(arguments: [true, false]) func bytesOfSeveralAnswersBeginOnceMore(secondIsRight: Bool) async throws {
    let (right, wrong) = (BytePattern(), BytePattern(seed: 2))
    let size = Self.mebi
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      guard let range = request.value("Range") else {
        return Reply([
          .head(200, fields: [("ETag", "\"a\""), ("Content-Length", "\(size)")]),
          .pattern(secondIsRight ? right : wrong, count: size),
        ])
      }
      let start = Int64(range.dropFirst(6).dropLast()) ?? 0
      return Reply([
        .head(
          206,
          fields: [
            ("ETag", "\"a\""), ("Content-Length", "\(size - start)"),
            ("Content-Range", "bytes \(start)-\(size - 1)/\(size)"),
          ]), .pattern(wrong, from: start, count: size - start),
      ])
    }
    let digest = try Self.sha256(right, count: size)
    let id = try add(Self.expecting(server.url("/file"), .init(sha256: digest)))
    // The first half is there from before.
    try right.write(toFile: files.partial(id), count: size / 2)
    let response = ResponseSummary(url: server.url("/file").absoluteString, status: 200)
    let validator = ResumeValidator(entityTag: "\"a\"", lastModified: nil, isLastModifiedStrong: false)
    try store.commit(
      offset: size / 2, representation: .init(response: response, validator: validator, expectedTotal: size), of: id)
    let (outcome, _) = try await attempt(id)
    #expect(server.requests.map { $0.value("Range") } == ["bytes=\(size / 2)-", nil])
    if secondIsRight {
      #expect(finishedSize(outcome) == size)
      #expect(right.matches(file: files.complete(id), count: size))
    } else {
      #expect(difference(outcome)?.expectedSHA256 == digest)
      try expectNothingIsKept(of: id)
    }
    await server.shutdown()
  }

  struct HeadRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
    let expectation: ContentExpectation
    let check: @Sendable (MismatchDescription) -> Bool
  }

  static let heads: [HeadRow] = [
    // The body never comes, so the head alone has decided.
    HeadRow(
      testDescription: "an announced length that is another one",
      reply: Reply([
        .head(200, fields: [("Content-Length", "9000000"), ("Content-Type", "application/octet-stream")]), .stall,
      ]),
      expectation: .init(byteCount: 5), check: { $0.expectedByteCount == 5 && $0.receivedByteCount == 9_000_000 }),
    HeadRow(
      testDescription: "an answer that is not the file",
      reply: Reply([.head(404, fields: [("Content-Length", "9")]), .stall]),
      expectation: .init(sha256: Data(repeating: 0, count: 32)), check: { $0.status == 404 }),
    HeadRow(
      testDescription: "no announced length, and too many bytes",
      reply: Reply([
        .head(200, fields: [("Transfer-Encoding", "chunked")]),
        .patternChunks(BytePattern(), count: 100_000, each: 10_000), .stall,
      ]),
      expectation: .init(byteCount: 50_000), check: { ($0.receivedByteCount ?? 0) > 50_000 }),
    HeadRow(
      testDescription: "no announced length, and too few bytes",
      reply: Reply([
        .head(200, fields: [("Transfer-Encoding", "chunked")]),
        .patternChunks(BytePattern(), count: 100, each: 100), .endOfChunks,
      ]),
      expectation: .init(byteCount: 101), check: { $0.receivedByteCount == 100 }),
  ]

  @Test(arguments: heads) func aLengthOrStatusThatDoesNotFitEndsTheTransfer(_ row: HeadRow) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in row.reply }
    let id = try add(Self.expecting(server.url("/file"), row.expectation))
    let mismatch = try #require(difference(try await attempt(id).outcome))
    #expect(row.check(mismatch), "\(mismatch)")
    try expectNothingIsKept(of: id)
    await server.shutdown()
  }

  // MARK: Tries that the app limits

  private static func retrying(_ url: URL, _ attempts: Int?, _ statuses: [Int]? = nil) -> TransferDescription {
    var description = TransferDescription.download(url.absoluteString)
    var retry = RetryDescription()
    (retry.maximumAttempts, retry.statuses) = (attempts, statuses)
    description.retry = retry
    return description
  }

  @Test func anAnswerWithAListedStatusIsNoneButForTheLastOne() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .status(503, fields: [("Retry-After", "40")], body: "busy")
    }
    let id = try add(Self.retrying(server.url("/file"), 2, [503]))
    guard case .refused(let refusal, _, _) = try await attempt(id).outcome else { return #expect(Bool(false)) }
    #expect(refusal.status == 503 && refusal.wait == 40)
    #expect(finishedSize(try await attempt(id, failures: 1).outcome) == 4, "the answer is handed out")
    await server.shutdown()
  }

  @Test func aStatusThatIsNotListedIsAnAnswer() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .status(503, body: "busy") }
    for statuses in [nil, [500]] as [[Int]?] {
      let id = try add(Self.retrying(server.url("/\(statuses?.count ?? 0)"), nil, statuses))
      #expect(finishedSize(try await attempt(id).outcome) == 4)
      try store.database.write { try $0.execute(sql: "DELETE FROM transfers") }
    }
    await server.shutdown()
  }

  @Test(arguments: [(failures: 0, isLast: false), (1, false), (2, true), (3, true)])
  func theLastFailureIsThatOfTheTask(failures: Int, isLast: Bool) async throws {
    let server = try await LoopbackServer.startRaw { $0.closeAbruptly() }
    let id = try add(Self.retrying(server.url("/file"), 3))
    switch try await attempt(id, failures: failures).outcome {
    case .retry: #expect(!isLast)
    case .failed(let failure, _, _): #expect(isLast && failure.message.contains("\(failures + 1) times in a row"))
    default: Issue.record("neither")
    }
    await server.shutdown()
  }

  @Test func requestsAreReportedWithoutCredentials() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.target == "/first"
        ? .redirect(to: "/second", fields: [("Set-Cookie", "hop=secret; Path=/")]) : .ok("file")
    }
    var description = TransferDescription.download(server.url("/first").absoluteString)
    description.request.headers.append(HeaderField("Authorization", "Bearer secret"))
    let (_, reports) = try await attempt(try add(description))
    guard case .measured(let transactions) = reports.last else { return #expect(Bool(false), "\(reports)") }
    #expect(transactions.map { $0.response?.status } == [302, 200])
    #expect(transactions.allSatisfy { $0.times.fetchStart != nil && $0.times.responseEnd != nil })
    #expect(transactions.allSatisfy { $0.connection.remotePort == server.port })
    #expect(transactions[1].bytes.responseBodyAfterDecoding == 4)
    #expect(!String(decoding: try MessageFraming.encode(transactions), as: UTF8.self).contains("secret"))
    await server.shutdown()
  }
}
