import EveryVersion
import Foundation
import HTTPSemantics
import Logging
import LoopbackServer
import NIOPosix
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// One try at a time, against a server that misbehaves.
@Suite(.overEveryVersion) struct DownloadRunTests {
  private let folder: TemporaryFolder
  let disk = FaultyFileSystem()
  let store: TransferStore
  let files: TransferFiles
  private let runner: DownloadRunner
  private let networks = FakeNetworks()
  private let session: StoredSession
  private static let pool: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    return pool
  }()

  init() throws {
    folder = try TemporaryFolder()
    store = try TransferStore.open(in: folder.path)
    files = TransferFiles(directory: folder.path, disk: disk)
    try files.createDirectories()
    runner = DownloadRunner(
      store: store, files: files, pool: Self.pool, log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() },
      networks: networks, trustRoots: .file(try TestCertificates.shared().authorityFile))
    let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 1, owner: 1))
    session = try store.attach(app: app, identifier: "s", options: SessionOptions())
  }

  static let mebi: Int64 = 1 << 20

  func add(_ description: TransferDescription) throws -> TransferID {
    try store.create([.init(description, host: "h")], session: session.id, date: Date()).ids[0]
  }

  /// Runs one try and returns its outcome and what it reported.
  func attempt(
    _ id: TransferID, remaining: TimeInterval = 600, failures: Int? = nil, options: SessionOptions = SessionOptions(),
    whileRunning: (any DownloadStopping, Recorder<DownloadReport>) async throws -> Void = { _, _ in }
  ) async throws -> (outcome: DownloadOutcome, reports: [DownloadReport]) {
    let stored = try #require(try store.transfer(id))
    var job = DownloadJob(stored, options: options, remainingTime: remaining)
    if let failures { job.failures = failures }
    let outcomes = Recorder<DownloadOutcome>()
    let reports = Recorder<DownloadReport>()
    let run = runner.start(job, report: { reports.record($0) }, ended: { outcomes.record($0) })
    try await whileRunning(run, reports)
    return (try await outcomes.next(), reports.all)
  }

  func finishedSize(_ outcome: DownloadOutcome) -> Int64? {
    if case .finished(_, let count) = outcome { count } else { nil }
  }

  func resumedAt(_ reports: [DownloadReport]) -> [Int64] {
    reports.compactMap { if case .resumed(let offset, _) = $0 { offset } else { nil } }
  }

  func failureCode(_ outcome: DownloadOutcome) -> URLError.Code? {
    switch outcome {
    case .retry(let failure, _, _), .failed(let failure, _, _): URLError.Code(rawValue: failure.code)
    default: nil
    }
  }

  func serve(_ resource: FileResource) async throws -> LoopbackServer {
    try await LoopbackServer.start(tls: WireVersion.current.tls()) { resource.reply(to: $0) }
  }

  @Test(arguments: [0, 1, 5 * mebi + 17])
  func aFileArrivesWhole(size: Int64) async throws {
    let resource = FileResource(size: size)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    let (outcome, _) = try await attempt(id)
    #expect(finishedSize(outcome) == size)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: size) == nil)
    #expect(try disk.size(of: files.partial(id)) == nil)
    let stored = try #require(try store.transfer(id))
    #expect(stored.head.committedOffset == size)
    #expect(stored.response?.status == 200)
    await server.shutdown()
  }

  @Test func cookiesOfTheRequestAndOfRedirectsAreSentOn() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.target == "/first" ? .redirect(to: "/second", fields: [("Set-Cookie", "hop=2; Path=/")]) : .ok("file")
    }
    var description = TransferDescription.download(server.url("/first").absoluteString)
    description.request.headers.append(HeaderField("Cookie", "app=1"))
    #expect(finishedSize(try await attempt(try add(description)).outcome) == 4)
    #expect(server.requests.map { $0.value("Cookie") } == ["app=1", "app=1; hop=2"])
    await server.shutdown()
  }

  /// The network must be allowed by the session and by the request; until then the transfer is tried again.
  @Test(arguments: [NetworkTraits.cellular, .expensive, .constrained], [false, true])
  func aNetworkThatIsNotAllowedIsNotUsed(_ traits: NetworkTraits, _ byRequest: Bool) async throws {
    let server = try await serve(FileResource(size: 10))
    var options = SessionOptions()
    var description = TransferDescription.download(server.url("/file").absoluteString)
    switch (traits, byRequest) {
    case (.cellular, false): options.allowsCellularAccess = false
    case (.expensive, false): options.allowsExpensiveNetworkAccess = false
    case (_, false): options.allowsConstrainedNetworkAccess = false
    case (.cellular, true): description.request.allowsCellularAccess = false
    case (.expensive, true): description.request.allowsExpensiveNetworkAccess = false
    case (_, true): description.request.allowsConstrainedNetworkAccess = false
    }
    let id = try add(description)
    networks.become(traits)
    let (refused, _) = try await attempt(id, options: options)
    guard case .retry(let failure, KeptBytes(0), 0) = refused else { return #expect(Bool(false), "\(refused)") }
    #expect(failure.code == URLError.Code.notConnectedToInternet.rawValue)
    #expect(server.connectionCount == 0)
    networks.become([])
    #expect(finishedSize(try await attempt(id, options: options).outcome) == 10)
    await server.shutdown()
  }

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
    let lengths = second.reports.prefix(2).map { if case .resumed(_, let total) = $0 { total } else { Int64(-1) } }
    #expect(lengths == [-1, 5 * Self.mebi])
    #expect(finishedSize(second.outcome) == 5 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 5 * Self.mebi) == nil)
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
    let resource = FileResource(size: Self.mebi)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    disk.set([.init(.rename, code: EIO)])
    guard case .storageUnavailable(_, let kept, Self.mebi) = try await attempt(id).outcome else {
      Issue.record("the file got its name")
      return
    }
    #expect(kept.count == Self.mebi)
    disk.set([])
    #expect(finishedSize(try await attempt(id).outcome) == Self.mebi)
    #expect(resource.served.map(\.status) == [200, 416])
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: Self.mebi) == nil)
    await server.shutdown()
  }

  @Test(arguments: [404, 410, 500, 503, 401])
  func httpFailuresAreResults(status: Int) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .status(status, fields: [("Retry-After", "1")], body: "no \(status)")
    }
    let id = try add(.download(server.url("/file").absoluteString))
    guard case .finished(let response, let count) = try await attempt(id).outcome else {
      Issue.record("not finished")
      return
    }
    #expect(response.status == status)
    #expect(count == 6)
    #expect(try String(contentsOfFile: files.complete(id), encoding: .utf8) == "no \(status)")
    #expect(server.requests.count == 1)
    await server.shutdown()
  }

  /// The app did not ask for the rest, so it is not told of a server that can't send it now.
  @Test(arguments: [408, 429, 500, 503, 504])
  func aServerThatIsBusyAtTheRestCostsNoBytes(status: Int) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let isBusy = Gate()
    let isReady = Gate()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      isBusy.isOpen && !isReady.isOpen
        ? .status(status, fields: [("Retry-After", "120")], body: "later") : resource.reply(to: request)
    }
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    isBusy.open()
    let (outcome, reports) = try await attempt(id)
    guard case .refused(let refusal, let kept, let received) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(refusal == PassingRefusal(status: status, wait: 120))
    #expect(kept == KeptBytes(Self.mebi, of: 2 * Self.mebi) && received == Self.mebi)
    #expect(reports.isEmpty)
    #expect(try store.transfer(id)?.response?.status == 200)
    isReady.open()
    #expect(finishedSize(try await attempt(id).outcome) == 2 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 2 * Self.mebi) == nil)
    #expect(resource.bytesSent == 2 * Self.mebi)
    await server.shutdown()
  }

  /// An error page in place of the rest is the result; it is not appended to what was stored.
  @Test func anErrorPageReplacesWhatWasStored() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let gone = Gate()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      gone.isOpen ? .status(404, body: "gone") : resource.reply(to: request)
    }
    let id = try add(.download(server.url("/file").absoluteString))
    _ = try await attempt(id)
    gone.open()
    #expect(finishedSize(try await attempt(id).outcome) == 4)
    #expect(try String(contentsOfFile: files.complete(id), encoding: .utf8) == "gone")
    await server.shutdown()
  }

  @Test func redirectsAreFollowed() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.path == "/file" ? resource.reply(to: request) : .redirect(to: "/file")
    }
    let id = try add(.download(server.url("/start").absoluteString))
    _ = try await attempt(id)
    guard case .finished(let response, let count) = try await attempt(id).outcome else {
      Issue.record("not finished")
      return
    }
    #expect(count == 2 * Self.mebi)
    #expect(response.url == server.url("/file").absoluteString)
    #expect(resource.served.map(\.status) == [200, 206])
    await server.shutdown()
  }

  @Test func fieldsOfTheSessionStayWithTheirOrigin() async throws {
    let other = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("x") }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .redirect(to: other.url("/file").absoluteString)
    }
    var options = SessionOptions()
    options.httpAdditionalHeaders = [HeaderField("Authorization", "Bearer secret"), HeaderField("X-Mine", "kept")]
    let id = try add(.download(server.url("/start").absoluteString))
    #expect(finishedSize(try await attempt(id, options: options).outcome) == 1)
    #expect(server.requests.map { $0.value("Authorization") } == ["Bearer secret"])
    #expect(other.requests.map { $0.value("Authorization") } == [nil])
    #expect(other.requests.map { $0.value("X-Mine") } == ["kept"])
    await server.shutdown()
    await other.shutdown()
  }

  @Test func compressionIsNotAskedFor() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("x") }
    let plain = try add(.download(server.url("/a").absoluteString))
    let asked = try add(
      .download(server.url("/b").absoluteString, task: 2, headers: [HeaderField("Accept-Encoding", "gzip")]))
    _ = try await attempt(plain)
    _ = try await attempt(asked)
    #expect(server.requests.map { $0.value("Accept-Encoding") } == ["identity", "gzip"])
    await server.shutdown()
  }

  @Test func aRangeOfTheAppIsTheWholeDownload() async throws {
    let resource = FileResource(size: 1_000)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/f").absoluteString, headers: [HeaderField("Range", "bytes=100-199")]))
    guard case .finished(let response, let count) = try await attempt(id).outcome else {
      Issue.record("not finished")
      return
    }
    #expect(response.status == 206 && count == 100)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: files.complete(id)))
    #expect(resource.version.pattern.matches(bytes, at: 100))
    await server.shutdown()
  }

  @Test func aRefusedConnectionIsRetried() async throws {
    let server = try await serve(FileResource(size: 1))
    let url = server.url("/file").absoluteString
    await server.shutdown()
    let id = try add(.download(url))
    let (outcome, _) = try await attempt(id)
    guard case .retry(_, KeptBytes(0), 0) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(failureCode(outcome) == .cannotConnectToHost)
  }

  @Test func anAnswerThatIsNotHTTPIsRetriedFiveTimes() async throws {
    let server = try await LoopbackServer.start { _ in .raw("SSH-2.0-OpenSSH_9.2\r\n\r\n") }
    let id = try add(.download(server.url("/file").absoluteString))
    guard case .retry = try await attempt(id, failures: 0).outcome else {
      Issue.record("no retry")
      return
    }
    guard case .failed = try await attempt(id, failures: 4).outcome else {
      Issue.record("no end")
      return
    }
    await server.shutdown()
  }

  @Test(arguments: ["ftp://h/", "file:///etc/passwd", "data:,x", "http:", "", "nonsense", "http:///x"])
  func onlyHTTPIsLoaded(url: String) async throws {
    let id = try add(.download(url))
    let (outcome, _) = try await attempt(id)
    guard case .failed = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(failureCode(outcome) == .unsupportedURL)
  }

  @Test func stoppingKeepsWhatHasArrived() async throws {
    let resource = FileResource(size: 4 * Self.mebi)
    resource.update { $0.cuts = [.after(2 * Self.mebi, .stall)] }
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    let (outcome, _) = try await attempt(id) { run, reports in
      while true {
        if case .progressed = try await reports.next() { break }
      }
      run.stop()
    }
    guard case .stopped(let received) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(received > 0)
    #expect(try store.transfer(id)?.head.committedOffset == received)
    try await server.waitForOpenConnections(0)
    #expect(finishedSize(try await attempt(id).outcome) == 4 * Self.mebi)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: 4 * Self.mebi) == nil)
    await server.shutdown()
  }

  @Test func silenceIsATimeOutAndARetry() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .never }
    var description = TransferDescription.download(server.url("/file").absoluteString)
    description.request.timeoutInterval = 0.05
    let id = try add(description)
    let (outcome, _) = try await attempt(id)
    guard case .retry = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(failureCode(outcome) == .timedOut)
    await server.shutdown()
  }
}
