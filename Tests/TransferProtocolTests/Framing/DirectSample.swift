import Foundation

@testable import TransferProtocol

/// Values of a type that is written without `Codable`: first one with every field, last one with the fewest.
struct DirectSample: CustomStringConvertible, Sendable {
  let description: String
  let values: [any DirectJSON & Sendable]
  /// Whether a field beside those that it knows changes what it is.
  var isOneOfSeveral = false

  init<Value: DirectJSON & Sendable>(_ values: Value..., isOneOfSeveral: Bool = false) {
    description = "\(Value.self)"
    self.values = values
    self.isOneOfSeveral = isOneOfSeveral
  }

  static let all: [DirectSample] = [
    DirectSample(
      status,
      TransferStatus(
        transfer: 1, session: "", taskIdentifier: 0, kind: .download, url: "", state: .other("newer"),
        created: Date(timeIntervalSince1970: 0))),
    DirectSample(
      description, TransferDescription(token: "t", taskIdentifier: 1, request: RequestDescription(url: "u"))),
    DirectSample(
      snapshot,
      TransferSnapshot(
        description: TransferDescription(token: "t", taskIdentifier: 1, request: RequestDescription(url: "u")),
        status: status)),
    DirectSample(TaskPage(tasks: [snapshot, snapshot], next: 7), TaskPage()),
    DirectSample(transferPage, TransferPage()),
    DirectSample(
      Attached(
        page: TaskPage(tasks: [snapshot], next: 7), nextTaskIdentifier: 8, pendingEventCount: 9, willFinishEvents: true),
      Attached(page: TaskPage(), nextTaskIdentifier: 1, pendingEventCount: 0, willFinishEvents: false)),
    DirectSample(
      completion, Completion(failure: nil, response: nil, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1)),
    DirectSample(SequencedEvent(session: "s", sequence: 1, taskIdentifier: 2, event: .completed(completion)), event),
    DirectSample(
      ServiceMessage.push(.event(event)), .push(.progress(progress)),
      .push(.responseReceived(ResponseReceived(session: "s", taskIdentifier: 1, response: response))),
      .push(.transferChanged(status)), .reply(to: 1, .transfers(transferPage)), .reply(to: .max, .tasks(TaskPage())),
      isOneOfSeveral: true),
    DirectSample(
      CreateTasks(session: "s", tasks: [description, description], files: 1), CreateTasks(session: "", tasks: [])),
    DirectSample(
      ClientMessage(id: .max, request: .createTasks(CreateTasks(session: "s", tasks: [description]))),
      isOneOfSeveral: true),
  ]

  private static let date = Date(timeIntervalSince1970: 1_764_140_237.25)

  private static let response: ResponseSummary = {
    var response = ResponseSummary(
      url: "http://localhost/a", status: 200, headers: [HeaderField("ETag", "\"x\""), HeaderField("Empty", "")],
      expectedContentLength: 1_024)
    response.mimeType = "text/html"
    response.sealedHeaders = Data([0, 255, 254, 253])
    return response
  }()

  private static let failure: TransferFailure = {
    var failure = TransferFailure(domain: "NSURLErrorDomain", code: -999, message: "It said \"no\".", url: "http://a/")
    (failure.cancelReason, failure.underlyingDomain, failure.underlyingCode) = (1, "POSIX", 5)
    failure.mismatch = MismatchDescription()
    return failure
  }()

  private static let status: TransferStatus = {
    var status = TransferStatus(
      transfer: 9_007_199_254_740_993, session: "séssion", taskIdentifier: 4, kind: .upload,
      url: "https://localhost/ä?b=c",
      state: .waiting, created: date)
    (status.taskDescription, status.app) = ("[\"a\", \"b\\\\\"]\n", "/usr/bin/app")
    status.waiting = WaitingStatus(code: "retry", sentence: "It will be tried again.", nextAttempt: date)
    (status.httpStatus, status.failure, status.finished, status.isAcknowledged) = (503, failure, date, true)
    (status.countOfBytesSent, status.countOfBytesExpectedToSend) = (3, 4)
    status.bytesPerSecond = 7
    status.absence = AppAbsence(days: 65, removal: Date(timeIntervalSinceReferenceDate: 800_000_000))
    status.limits = [TransferLimit(scope: .app, limit: BandwidthLimit(bytesPerSecond: 2_048))]
    return status
  }()

  private static let description: TransferDescription = {
    var request = RequestDescription(
      url: "https://localhost/a", method: "POST", headers: [HeaderField("A", "b/c")], body: Data([1, 2, 3]))
    (request.timeoutInterval, request.cachePolicy, request.networkServiceType) = (12.5, 1, 2)
    (request.allowsCellularAccess, request.allowsExpensiveNetworkAccess) = (true, false)
    (request.allowsConstrainedNetworkAccess, request.allowsUltraConstrainedNetworkAccess) = (true, false)
    (request.assumesHTTP3Capable, request.requiresDNSSECValidation, request.allowsPersistentDNS) = (true, false, true)
    (request.httpShouldHandleCookies, request.httpShouldUsePipelining) = (false, true)
    (request.cookiePartitionIdentifier, request.mainDocumentURL, request.attribution) = ("p", "https://localhost/", 1)
    request.protocolProperties = Data("<plist/>".utf8)
    var description = TransferDescription(token: "t", taskIdentifier: 3, kind: .other("newer"), request: request)
    (description.taskDescription, description.priority, description.earliestBeginDate) = ("d", 0.3, date)
    description.resumePoint = ResumePoint(path: "/p", offset: 5, url: "u")
    description.upload = UploadDescription(path: "/u")
    (description.isDataTask, description.isMadeInBackground, description.startsImmediately) = (true, false, true)
    description.expectation = ContentExpectation(sha256: Data(repeating: 7, count: 32), byteCount: 9)
    description.retry = RetryDescription()
    description.bytesPerSecond = 4_096
    description.hourlyLimits = [
      BandwidthLimit(bytesPerSecond: nil, hours: DailyHours("22:00-06:00")),
      BandwidthLimit(bytesPerSecond: 5_000, hours: DailyHours("08:00-18:00")),
    ]
    return description
  }()

  private static let snapshot: TransferSnapshot = {
    var snapshot = TransferSnapshot(description: description, status: status, response: response)
    snapshot.tries = [TransferTry(began: date, offset: 1)]
    return snapshot
  }()

  private static let transferPage: TransferPage = {
    var page = TransferPage(transfers: [status, status], next: 12)
    page.limits = [BandwidthLimit(bytesPerSecond: nil)]
    return page
  }()

  private static let completion: Completion = {
    var transaction = TransactionDescription(
      url: "http://localhost/a", method: "GET", headers: [HeaderField("Accept", "*/*")], source: .networkLoad)
    transaction.response = response
    var times = TransactionDescription.Times()
    (times.fetchStart, times.domainLookupStart, times.domainLookupEnd) = (date, date + 1, date + 2)
    (times.connectStart, times.secureConnectionStart) = (date + 3, date + 4)
    (times.secureConnectionEnd, times.connectEnd) = (date + 5, date + 6)
    (times.requestStart, times.requestEnd) = (date + 7, date + 8)
    (times.responseStart, times.responseEnd) = (date + 9, date + 10)
    transaction.times = times
    var connection = TransactionDescription.Connection()
    (connection.protocolName, connection.isProxy, connection.isReused) = ("http/1.1", true, true)
    (connection.localAddress, connection.localPort) = ("127.0.0.1", 4)
    (connection.remoteAddress, connection.remotePort) = ("::1", 65_535)
    (connection.tlsVersion, connection.tlsCipherSuite) = (0x0304, 0x1301)
    (connection.isCellular, connection.isExpensive) = (true, true)
    (connection.isConstrained, connection.isMultipath, connection.domainResolution) = (true, true, 3)
    transaction.connection = connection
    transaction.bytes.requestHeader = 1
    transaction.bytes.responseBodyAfterDecoding = 6
    var completion = Completion(
      failure: failure, response: response, countOfBytesReceived: 1, countOfBytesExpectedToReceive: 2)
    (completion.countOfBytesSent, completion.countOfBytesExpectedToSend) = (3, 4)
    completion.transactions = [transaction]
    completion.sealedTransactions = Data([1, 2])
    completion.resumePoint = ResumePoint(path: "/p", offset: 5, url: "u")
    return completion
  }()

  private static let event = SequencedEvent(
    session: "s", sequence: 1, taskIdentifier: 2,
    event: .finishedDownloading(FinishedDownload(path: "/f", response: response, byteCount: 3)))

  private static let progress = DownloadProgress(
    session: "s", taskIdentifier: 2, totalBytesWritten: 3, totalBytesExpectedToWrite: -1)
}
