import Foundation
import HTTPSemantics
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// What background sessions offer beyond Apple's API.
@Suite struct BackgroundEngineAdditionsTests {
  private let service = FakeTransferService()
  private let delegate = RecordingDelegate()
  private let url: URL

  init() throws { url = try #require(URL(string: "http://example.com/file")) }

  private func makeSession(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "additions-\(UUID().uuidString)")
    configuration.transferConnector = service
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func end(_ session: URLSession) async throws {
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  private func waits(_ task: URLSessionTask, _ waiting: WaitingStatus?) -> ServicePush {
    .waiting(WaitingTasks(session: "s", tasks: [.init(taskIdentifier: task.taskIdentifier, waiting: waiting)]))
  }

  @Test func theWishesOfATaskReachTheService() async throws {
    let session = makeSession {
      $0.transferRetryPolicy = TransferRetryPolicy(maximumAttempts: 9)
      $0.transferBandwidthLimit = 70_000
    }
    let task = session.downloadTask(with: url)
    task.expectedContent = ExpectedContent(sha256: ExpectedContentTests.abc, byteCount: 3)
    task.transferRetryPolicy = TransferRetryPolicy(
      maximumAttempts: 3, pause: 2, longestPause: .infinity, statuses: [503, 404, -1, 9_999])
    task.transferBandwidthLimit = 5_000
    task.resume()
    // Too late.
    task.transferRetryPolicy = nil
    let sent = try #require(try await service.nextCreation().first)
    #expect(sent.expectation?.byteCount == 3 && sent.expectation?.sha256?.count == 32)
    #expect(sent.retry?.maximumAttempts == 3 && sent.retry?.pause == 2 && sent.retry?.statuses == [404, 503])
    #expect(sent.retry?.isSound == true && sent.bytesPerSecond == 5_000)
    #expect(task.transferRetryPolicy?.maximumAttempts == 3)
    let attached = try #require(
      service.requests.all.compactMap { if case .attach(let attach) = $0 { attach.options } else { nil } }.first)
    #expect(attached.retry?.maximumAttempts == 9 && attached.bytesPerSecond == 70_000)

    task.transferBandwidthLimit = nil
    let update = try await service.next { if case .updateTask(let update) = $0 { update } else { nil } }
    #expect(update.bytesPerSecond == 0 && update.priority == nil)
    try await end(session)
  }

  @Test func theHoursOfALimitReachTheService() async throws {
    let day = try #require(TransferBandwidthHours(start: 8 * 60, end: 18 * 60, bytesPerSecond: 70_000))
    let night = try #require(TransferBandwidthHours(start: 22 * 60, end: 24 * 60, bytesPerSecond: nil))
    #expect(night.end == 0 && day.start == 480 && day.end == 1_080)
    for (start, end) in [(0, 0), (0, 1_440), (-1, 5), (1_440, 5), (5, 1_441), (5, -1), (.max, .min)] {
      #expect(TransferBandwidthHours(start: start, end: end, bytesPerSecond: 1) == nil, "\(start), \(end)")
    }
    let session = makeSession { $0.transferBandwidthHours = [day] }
    let task = session.downloadTask(with: url)
    task.transferBandwidthHours = [day, night]
    task.resume()
    let sent = try #require(try await service.nextCreation().first)
    let limits = [
      BandwidthLimit(bytesPerSecond: 70_000, hours: DailyHours("08:00-18:00")),
      BandwidthLimit(bytesPerSecond: nil, hours: DailyHours("22:00-24:00")),
    ]
    #expect(sent.hourlyLimits == limits && sent.bytesPerSecond == nil)
    let attached = try #require(
      service.requests.all.compactMap { if case .attach(let attach) = $0 { attach.options } else { nil } }.first)
    #expect(attached.hourlyLimits == [limits[0]])
    #expect(attached.makeConfiguration().transferBandwidthHours == [day])

    task.transferBandwidthHours = [night]
    let update = try await service.next { if case .updateTask(let update) = $0 { update } else { nil } }
    #expect(update.hourlyLimits == [limits[1]] && update.bytesPerSecond == nil)
    try await end(session)
  }

  @Test func aTaskSaysWhyItWaits() async throws {
    let session = makeSession()
    let task = session.downloadTask(with: url)
    #expect(task.reasonForWaiting == nil)
    let events = session.transferEvents
    var iterator = events.makeAsyncIterator()
    task.resume()
    _ = try await service.nextCreation()
    let date = Date(timeIntervalSince1970: 5)
    service.push(waits(task, WaitingStatus(code: "retry", sentence: "Broken.", nextAttempt: date)))
    try await eventually("the reason") { task.reasonForWaiting?.kind == .retry }
    #expect(task.reasonForWaiting?.sentence == "Broken." && task.reasonForWaiting?.nextAttempt == date)
    // A newer state would take the place of this one.
    while let event = await iterator.next() {
      if case .waiting(let reason) = event.kind, reason.kind == .retry { break }
    }
    service.push(waits(task, WaitingStatus(code: "discretionary.onBattery", sentence: "Battery.")))
    service.push(waits(task, WaitingStatus(code: "unheardOf", sentence: "New.")))
    try await eventually("the newer reason") { task.reasonForWaiting?.kind == .other("unheardOf") }
    service.push(waits(task, nil))
    try await eventually("no reason") { task.reasonForWaiting == nil }
    service.end(task.taskIdentifier, path: nil, failure: TransferFailure(URLError(.timedOut)))
    var told: [String] = []
    while let event = await iterator.next() {
      told.append("\(event.kind)".prefix { $0 != "(" }.description)
      if case .failed = event.kind { break }
    }
    #expect(told.contains("running") && told.last == "failed")
    #expect(task.reasonForWaiting == nil)
    try await end(session)
  }

  @Test func tasksOfEarlierProcessesSayWhyTheyWait() async throws {
    service.withState { state in
      state.tasks[1] = TransferDescription(
        token: "t", taskIdentifier: 1, request: RequestDescription(url: "http://example.com/file"))
      state.states[1] = .waiting
      state.waiting[1] = WaitingStatus(code: "noSpace", sentence: "Full.")
    }
    let session = makeSession()
    let tasks = await session.allTasks
    #expect(tasks.first?.reasonForWaiting?.kind == .noSpace)
    try await end(session)
  }

  /// It would hand out any file.
  @Test func aServiceThatDoesNotCheckFilesGetsNoTaskThatNeedsIt() async throws {
    service.withState { $0.version = 3 }
    let session = makeSession()
    let (checked, plain) = (session.downloadTask(with: url), session.downloadTask(with: url))
    checked.expectedContent = ExpectedContent(byteCount: 3)
    checked.resume()
    plain.resume()
    try await eventually("the task to fail") { checked.state == .completed }
    #expect((checked.error as? URLError)?.localizedDescription.contains("Update urlsessiond") == true)
    try await eventually("the other task to be created") {
      service.withState { $0.tasks.keys.sorted() } == [plain.taskIdentifier]
    }
    // It never says why tasks wait.
    try await eventually("no reason") { plain.reasonForWaiting == nil }
    try await end(session)
  }

  @Test func theServicesRequestsAreTheMetricsOfTheTask() async throws {
    let session = makeSession()
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    let start = Date(timeIntervalSince1970: 1_000)
    let transactions = [302, 200].map { status in
      var transaction = TransactionDescription(
        url: "http://example.com/\(status)", method: "GET", headers: [HeaderField("A", "1")], source: .networkLoad)
      transaction.response = ResponseSummary(url: "http://example.com/\(status)", status: status)
      transaction.times.fetchStart = start
      transaction.times.responseEnd = start + 1
      transaction.connection.protocolName = "h2"
      transaction.connection.remotePort = 443
      transaction.connection.tlsVersion = 0x0304
      transaction.bytes.responseBody = 9
      return transaction
    }
    service.end(
      task.taskIdentifier, path: nil, failure: TransferFailure(URLError(.timedOut)), transactions: transactions)
    let metrics = try await delegate.metrics.next()
    #expect(metrics.redirectCount == 1 && metrics.taskInterval.start == start)
    #expect(metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 200])
    let last = try #require(metrics.transactionMetrics.last)
    #expect(last.request.url?.path == "/200" && last.request.value(forHTTPHeaderField: "A") == "1")
    #expect(last.fetchStartDate == start && last.responseEndDate == start + 1 && last.connectStartDate == nil)
    #expect(last.networkProtocolName == "h2" && last.remotePort == 443 && last.negotiatedTLSProtocolVersion == .TLSv13)
    #expect(last.countOfResponseBodyBytesReceived == 9 && last.resourceFetchType == .networkLoad)
    try await end(session)
  }
}
