import Foundation
import HTTPSemantics
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// One try after another: what a later one does with the bytes of those before.
extension DownloadRunTests {
  @Test func aCutDownloadResumesWhereItStopped() async throws {
    let size = 12 * Self.mebi + 5
    let resource = FileResource(size: size)
    resource.update { $0.cuts = [.after(5 * Self.mebi), .after(3 * Self.mebi)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))

    let first = try await attempt(id)
    guard case .retry(_, let kept, let received) = first.outcome else {
      Issue.record("\(first.outcome)")
      return
    }
    #expect(failureCode(first.outcome) == .networkConnectionLost)
    #expect(received == 5 * Self.mebi)
    #expect(kept == KeptBytes(5 * Self.mebi, of: size))
    // What is committed is on the disk.
    #expect(try store.transfer(id)?.head.committedOffset == received)
    #expect(try disk.size(of: files.partial(id)) == received)

    let second = try await attempt(id)
    #expect(resumedAt(second.reports) == [5 * Self.mebi])
    let third = try await attempt(id)
    #expect(resumedAt(third.reports) == [8 * Self.mebi])
    #expect(finishedSize(third.outcome) == size)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: size) == nil)
    // No byte travelled twice.
    #expect(resource.bytesSent == size)
    #expect(resource.served.map(\.ifRange) == [nil, resource.version.etag, resource.version.etag])
    // The app is told of the response that the resource began with.
    #expect(try store.transfer(id)?.response?.status == 200)
    await server.shutdown()
  }

  struct Change: Sendable {
    let name: String
    let change: @Sendable (FileResource) -> Void
    /// The statuses of all answers.
    let statuses: [Int]
    /// Tries that end in a retry before the last one finishes.
    var retries = 1
  }

  static let changes: [Change] = [
    Change(
      name: "the resource changed", change: { $0.replace(with: .init(size: 7 * mebi, seed: 2)) }, statuses: [200, 200]),
    Change(
      name: "it changed and became shorter than what is stored",
      change: { $0.replace(with: .init(size: mebi, seed: 2)) }, statuses: [200, 200]),
    Change(
      name: "ranges are not served any more", change: { $0.update { $0.supportsRanges = false } }, statuses: [200, 200]),
    Change(
      name: "a part begins elsewhere than asked",
      change: { $0.update { $0.contentRange = .shifted(by: 100) } }, statuses: [200, 206, 200]),
    Change(
      name: "a part begins before", change: { $0.update { $0.contentRange = .shifted(by: -1) } },
      statuses: [200, 206, 200]),
    Change(
      name: "a part of another total", change: { $0.update { $0.contentRange = .wrongTotal(7 * mebi) } },
      statuses: [200, 206, 200]),
    Change(
      name: "a part without Content-Range", change: { $0.update { $0.contentRange = .missing } },
      statuses: [200, 206, 200]),
    Change(
      name: "a part with nonsense", change: { $0.update { $0.contentRange = .text("bytes 99-1/none") } },
      statuses: [200, 206, 200]),
    Change(
      name: "the answer to the range is cut too", change: { $0.update { $0.cuts = [.after(0), .after(mebi)] } },
      statuses: [200, 206, 206], retries: 2),
  ]

  /// Half the file is stored when the server changes its mind.
  @Test(arguments: changes.indices)
  func storedBytesAreContinuedByTheSameResourceOnly(index: Int) async throws {
    let row = Self.changes[index]
    let resource = FileResource(size: 6 * Self.mebi)
    resource.update { $0.cuts = [.after(3 * Self.mebi)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    guard case .retry = try await attempt(id).outcome else {
      Issue.record("\(row.name): the first try was not cut")
      return
    }
    row.change(resource)
    var outcome = try await attempt(id).outcome
    for _ in 1..<row.retries { outcome = try await attempt(id).outcome }
    let version = resource.version
    #expect(finishedSize(outcome) == version.size, "\(row.name): \(outcome)")
    #expect(version.pattern.difference(toFile: files.complete(id), count: version.size) == nil, "\(row.name)")
    #expect(resource.served.map(\.status) == row.statuses, "\(row.name)")
    await server.shutdown()
  }

  @Test func withoutAValidatorItStartsOver() async throws {
    var version = FileResource.Version(size: 4 * Self.mebi, lastModified: nil)
    version.etag = nil
    let resource = FileResource(version)
    resource.update { $0.cuts = [.after(2 * Self.mebi)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    guard case .retry(_, let kept, 2 * Self.mebi) = try await attempt(id).outcome else {
      Issue.record("the first try was not cut")
      return
    }
    // They are on the disk, and of no use to a later try.
    #expect(kept.count == 0)
    #expect(finishedSize(try await attempt(id).outcome) == version.size)
    #expect(resource.served.map(\.rangeField) == [nil, nil])
    #expect(version.pattern.difference(toFile: files.complete(id), count: version.size) == nil)
    await server.shutdown()
  }

  @Test func aWeakTagIsNoCondition() async throws {
    var version = FileResource.Version(size: 2 * Self.mebi, lastModified: nil)
    version.etag = "W/\"weak\""
    let resource = FileResource(version)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    #expect(finishedSize(try await attempt(id).outcome) == version.size)
    #expect(resource.served.map(\.rangeField) == [nil, nil])
    await server.shutdown()
  }

  @Test func aChunkedBodyOfUnknownLengthIsResumedToo() async throws {
    let resource = FileResource(size: 5 * Self.mebi)
    resource.update {
      $0.hidesLength = true
      $0.cuts = [.after(2 * Self.mebi)]
    }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    let second = try await attempt(id)
    #expect(resumedAt(second.reports) == [2 * Self.mebi])
    // First the response, which had no length, then what the part told of it.
    let told = second.reports.filter { if case .connected = $0 { false } else { true } }
    let lengths = told.prefix(2).map { if case .resumed(_, let total) = $0 { total } else { Int64(-1) } }
    #expect(lengths == [-1, 5 * Self.mebi])
    #expect(finishedSize(second.outcome) == 5 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 5 * Self.mebi) == nil)
    await server.shutdown()
  }

  /// As behind a captive portal, or with a clock that is wrong.
  @Test func aServerThatCanNotBeTrustedEndsNoDownloadThatKeepsBytes() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await LoopbackServer.start(tls: .localhost()) { resource.reply(to: $0) }
    let id = try add(.download(server.url("/file").absoluteString))
    var options = SessionOptions()
    options.certificateAuthorities = [try TestCertificates.shared().selfSigned.certificateFile]
    guard case .failed = try await attempt(id, failures: 9, options: options).outcome else {
      Issue.record("a transfer that has nothing goes on")
      return
    }
    _ = try await attempt(id)
    let (outcome, _) = try await attempt(id, failures: 99, options: options)
    guard case .retry(let failure, let kept, _) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(outcome.isDoubtful, "\(failure)")
    #expect(kept == KeptBytes(Self.mebi, of: 2 * Self.mebi))
    #expect(finishedSize(try await attempt(id).outcome) == 2 * Self.mebi)
    #expect(resource.bytesSent == 2 * Self.mebi)
    await server.shutdown()
  }

  enum Total: Sendable, CaseIterable { case always, atTheEnd, never }

  /// RFC 9110 §15.3.7: a server may send less than was asked for, and need not say how much there is.
  @Test(arguments: Total.allCases)
  func partsAreAskedForUntilNothingIsLeft(total: Total) async throws {
    let resource = FileResource(size: 1_000)
    resource.update { $0.hidesLength = total != .always }
    resource.update { $0.cuts = [.after(100)] }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      guard let start = request.value("Range").flatMap({ Int64($0.dropFirst(6).dropLast()) }) else {
        return resource.reply(to: request)
      }
      guard start < 1_000 else { return .status(416, fields: [("Content-Range", "bytes */1000")]) }
      let end = min(start + 300, 1_000)
      let isTold = total == .always || total == .atTheEnd && end == 1_000
      return Reply([
        .head(
          206,
          fields: [
            ("ETag", resource.version.etag ?? ""), ("Content-Length", "\(end - start)"),
            ("Content-Range", "bytes \(start)-\(end - 1)/\(isTold ? "1000" : "*")"),
          ]), .pattern(resource.version.pattern, from: start, count: end - start),
      ])
    }
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    let second = try await attempt(id)
    #expect(finishedSize(second.outcome) == 1_000)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 1_000) == nil)
    #expect(resumedAt(second.reports) == [100])
    var ranges = [nil, "bytes=100-", "bytes=400-", "bytes=700-"]
    if total == .never { ranges.append("bytes=1000-") }
    #expect(server.requests.map { $0.value("Range") } == ranges)
    await server.shutdown()
  }

  /// Everything was stored when the connection broke: the range that is left is empty, which a server answers by 416.
  @Test func nothingLeftIsFinished() async throws {
    let size = JournalledPart.largestUncounted + 1
    let resource = FileResource(size: size)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(.rename, code: EIO)])
    guard case .storageUnavailable(_, let kept, size) = try await attempt(id).outcome else {
      Issue.record("the file got its name")
      return
    }
    #expect(kept.count == size)
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == size)
    #expect(resource.served.map(\.status) == [200, 416])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: size) == nil)
    await server.shutdown()
  }
  /// The queue counts none of its bytes before its end.
  @Test func aSmallFileThatGetsNoNameIsLoadedAgain() async throws {
    let resource = FileResource(size: 1_000)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(.rename, code: EIO)])
    guard case .storageUnavailable(_, let kept, 0) = try await attempt(id).outcome else {
      Issue.record("the file got its name")
      return
    }
    #expect(kept.count == 0)
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == 1_000)
    #expect(resource.served.map(\.status) == [200, 200])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 1_000) == nil)
    await server.shutdown()
  }
}
