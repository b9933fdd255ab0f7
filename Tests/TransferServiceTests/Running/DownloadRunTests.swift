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
  let runner: DownloadRunner
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
    neededSpace: Int64? = nil,
    whileRunning: (any DownloadStopping, Recorder<DownloadReport>) async throws -> Void = { _, _ in }
  ) async throws -> (outcome: DownloadOutcome, reports: [DownloadReport]) {
    let stored = try #require(try store.transfer(id))
    var job = DownloadJob(stored, options: options, remainingTime: remaining)
    if let failures { (job.failures, job.doubtfulFailures) = (failures, failures) }
    job.neededSpace = neededSpace
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

  /// The largest of those that are not counted is less than a batch: a whole one may be counted on a slow machine.
  @Test(arguments: [0, 1, mebi / 4, mebi + 1, 5 * mebi + 17])
  func aFileArrivesWhole(size: Int64) async throws {
    let resource = FileResource(size: size)
    let server = try await serve(resource)
    let id = try add(.download(server.url("/file").absoluteString))
    let (outcome, _) = try await attempt(id)
    #expect(finishedSize(outcome) == size)
    #expect(resource.version.pattern.difference(toFile: files.complete(id), count: size) == nil)
    #expect(try disk.size(of: files.partial(id)) == nil)
    let stored = try #require(try store.transfer(id))
    // The queue hears of a small file with its end.
    let isCounted = size > JournalledPart.largestUncounted
    #expect(stored.head.committedOffset == (isCounted ? size : 0))
    #expect(stored.response?.status == (isCounted ? 200 : nil))
    await server.shutdown()
  }

  /// A service that dies before the end is written must not send the request again.
  @Test func aSmallAnswerToARequestThatIsNotRepeatedIsCountedAtOnce() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("done") }
    var description = TransferDescription.download(server.url("/file").absoluteString)
    description.request.method = "POST"
    let id = try add(description)
    #expect(finishedSize(try await attempt(id).outcome) == 4)
    let stored = try #require(try store.transfer(id))
    #expect(stored.head.committedOffset == 4 && stored.response?.status == 200)
    await server.shutdown()
  }

  /// The bytes of one answer come within one interval of reports.
  @Test func theLastBytesBeforeAStandstillAreReported() async throws {
    let (arrived, gate) = (3 * Self.mebi + 1, Gate())
    let resource = FileResource(size: 4 * Self.mebi)
    resource.update { $0.pause = (arrived, gate) }
    let server = try await serve(resource)
    let (outcome, _) = try await attempt(try add(.download(server.url("/file").absoluteString))) { _, reports in
      try await eventually("the count of a download that stands still") {
        guard case .progressed(arrived, _, _) = reports.all.last else { return false }
        return true
      }
      gate.open()
    }
    #expect(finishedSize(outcome) == 4 * Self.mebi)
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
    let told = reports.filter { if case .connected = $0 { false } else { true } }
    #expect(told.allSatisfy { if case .measured = $0 { true } else { false } }, "\(reports)")
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
