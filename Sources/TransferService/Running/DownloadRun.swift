import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import Synchronization
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// One try at one download, from the request to the file under its complete name: `ResumableDownload` with a journalled
/// part as its destination. Says how the try ended; the events are the engine's business.
/// Confined to the load's event loop, but for `stop` and `start`.
final class DownloadRun: @unchecked Sendable {
  private let job: DownloadJob
  private let runner: DownloadRunner
  private let report: @Sendable (DownloadReport) -> Void
  private let context: LoadContext
  private let url: URL

  private struct Stop: Error {}
  private let isStopped = Mutex(false)

  // Confined to the loop from here on.
  private let part: JournalledPart
  /// nil for a download.
  let sending: UploadSending?
  /// nil for an upload.
  private let begun: BegunRequest?
  /// nil where it goes as fast as it can.
  let pacing: RunPacing?
  private var expectedTotal: Int64
  /// The bytes received at the last call of the load.
  private var latestCount: Int64 = 0
  private var throttle = ProgressThrottle()
  private var delayedReport: Scheduled<Void>?
  private var hasReportedProgress = false

  init(
    _ job: DownloadJob, url: URL, runner: DownloadRunner, context: LoadContext,
    report: @escaping @Sendable (DownloadReport) -> Void
  ) {
    self.job = job
    self.runner = runner
    self.report = report
    self.url = url
    self.context = context
    part = JournalledPart(job, runner: runner, in: context)
    sending = job.kind == .upload ? UploadSending(job, runner: runner, in: context, report: report) : nil
    begun = job.kind == .upload ? nil : BegunRequest(job, runner: runner, in: context)
    pacing = RunPacing(job.pace, of: context)
    part.pacing = pacing
    part.arrived = { report(.arrived) }
    part.awaitsStorage = { report(.awaitsStorage($0)) }
    expectedTotal = job.expectedTotal
  }

  /// Ends the try; what has arrived is kept. Callable from any thread.
  func stop() {
    isStopped.withLock { $0 = true }
    context.control.abort(Stop())
  }

  /// The same, unless the server may act on a request that is not repeated, or gives an answer once: then that is waited for.
  /// Callable from any thread.
  func stopIfRepeatable() {
    context.loop.execute { [self] in
      if sending?.mayStop ?? mayRepeat { return stop() }
      runner.log.info("transfer \(job.id) does not stop before its end: its answer can't be asked for again")
    }
  }

  /// Has what has arrived, and what a server has of an upload, outlive a machine that fails. Callable from any thread.
  func checkpoint(_ ended: @escaping @Sendable () -> Void) {
    context.loop.execute { [self] in
      part.commitSoon {
        if let sending = self.sending { sending.whenKept(ended) } else { ended() }
      }
    }
  }

  func start(_ ended: @escaping @Sendable (DownloadOutcome) -> Void) {
    context.priority = job.priority
    context.start { _ in ended(await self.run()) }
  }

  private func run() async -> DownloadOutcome {
    context.loop.assertInEventLoop()
    context.bodyPacing = pacing
    // It refers to the load.
    defer { context.bodyPacing = nil }
    var outcome: DownloadOutcome
    do {
      outcome = try await download()
    } catch {
      outcome = self.outcome(of: error, received: await part.salvage())
    }
    cancelDelayedReport()
    await part.close()
    await sending?.close(after: outcome)
    await begun?.close(after: outcome)
    context.control.finish()
    await measure()
    return outcome
  }

  private func download() async throws -> DownloadOutcome {
    try begun?.check()
    try await part.open()
    // An answer that an earlier try has begun to receive.
    if sending != nil { try await part.reset() }
    let needed = max(job.neededSpace ?? 0, part.roomForAnswer)
    if needed > 0 { try await part.claimSpace(needed) }
    let idle = job.request.timeoutInterval ?? job.options.timeoutIntervalForRequest ?? 60
    context.control.startTimers(idle: idle, resource: job.remainingTime)
    runner.failpoint(.beforeFirstByte)
    Failpoint.pass(loading: job.request.url)
    if let sending {
      try await upload(sending)
    } else {
      try await begun?.note()
      let download = ResumableDownload(
        job.urlRequest(url, in: context.configuration), into: part, of: job.representation, expecting: job.expectation,
        for: self,
        policy: job.policy, in: context)
      _ = try await download.run()
    }
    guard let response = part.response else {
      throw ErrorMapping.make(.badServerResponse, because: "There was no response.")
    }
    let count = part.received
    report(.progressed(received: count, expectedTotal: count, kept: KeptBytes(count, of: count)))
    return .finished(response, byteCount: count)
  }

  /// Sends the file, and keeps the body of the answer as a download's file is kept.
  private func upload(_ sending: UploadSending) async throws {
    let loaded = try await sending.send(job.urlRequest(url, in: context.configuration))
    if let refusal = job.policy.listedRefusal(loaded) {
      loaded.body.discard()
      throw refusal
    }
    sending.answered()
    do {
      tellResponse(summary(loaded, head(of: loaded), total: loaded.response.expectedContentLength))
      expectedTotal = loaded.response.expectedContentLength
      try await part.begin(DownloadRepresentation(validator: nil, total: nil))
      while let chunk = try await loaded.body.next() {
        downloadReceived(chunk.readableBytes, total: part.received + Int64(chunk.readableBytes))
        try await part.write(chunk)
      }
      try await sending.finish()
      try await part.finish()
    } catch {
      loaded.body.discard()
      throw error
    }
  }

  // MARK: When it did not work

  /// Whether another try may make the request.
  private var mayRepeat: Bool { sending?.mayRepeat ?? begun?.mayRepeat ?? true }

  /// Whether the answer to a request that is not repeated could not be kept, or may not have been.
  private var isAnsweredForGood: Bool { sending?.isAnsweredForGood ?? !mayRepeat }

  private func outcome(of error: any Error, received: Int64) -> DownloadOutcome {
    let error = sending?.cause(of: error) ?? error
    let kept = sending?.kept ?? part.kept(of: received)
    if isStopped.withLock({ $0 }) { return .stopped(received: received) }
    if let need = ServiceLoadClient.NeedsApp.cause(of: error) { return .needsApp(need.sentence, received: received) }
    if isAnsweredForGood, !(error is URLError), !(error is TransportError) {
      let cause = part.response == nil ? "The server may have acted on the request" : "The server has answered"
      let failure = TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.cannotWriteToFile.rawValue,
        message: "\(cause), but its answer could not be kept: \(error).", url: job.request.url)
      return .failed(failure, part.response, received: received)
    }
    switch error {
    case let refusal as PassingRefusal: return .refused(refusal, kept: kept, received: received)
    case let error as SpaceReckoning.Shortage: return .noSpace(needed: error.needed, available: error.available)
    case let error as SystemError where error.isNoSpace: return .noSpace(needed: 0, available: 0)
    default: break
    }
    if let sentence = StorageFault.sentence(of: error, in: runner.files.directory) {
      return .storageUnavailable(sentence, kept: kept, received: received)
    }
    if let error = error as? SystemError {
      let failure = TransferFailure(error, url: job.request.url)
      // The machine is short of something at the moment; that takes nothing from what is on the disk.
      if error.isTransient { return .retry(failure, kept: kept, received: received) }
      return .failed(failure, part.response, received: received)
    }
    let mapped = ErrorMapping.urlError(error, url: url)
    var failure = TransferFailure(
      domain: NSURLErrorDomain, code: mapped.code.rawValue, message: mapped.sentence, url: job.request.url)
    failure.mismatch = mapped.contentMismatch?.description
    // A wait that storage caused: the queue itself could not be written.
    if !(error is URLError), !(error is TransportError) {
      return .retry(failure, kept: kept, received: received)
    }
    let isProgress = kept.areProgress(beyond: job.countedBytes)
    let failures = isProgress ? 1 : job.failures + 1
    let counted = RetryRule.isDoubtful(mapped.code) && !isProgress ? job.doubtfulFailures + 1 : failures
    let verdict = RetryRule.verdict(
      on: mapped.code, mayRepeat: mayRepeat, failures: counted, keepsBytes: kept.count > 0, isAttended: job.isAttended)
    if verdict == .retry, RetryRule.isLast(mapped.code, failures: failures, limit: job.retry?.maximumAttempts) {
      failure.message +=
        " It was tried \(failures == 1 ? "once" : "\(failures) times in a row"), as often as its app allows."
    } else if verdict == .retry {
      return .retry(failure, kept: kept, received: received)
    }
    return .failed(failure, part.response, received: received)
  }

  /// Tells of the try's requests. A look at the network of a connection may block.
  private func measure() async {
    let contents = context.transactions.suffix(TransactionDescription.maximumCount).map(\.contents)
    let transactions = try? await context.loop.blocking(on: runner.pool) { contents.map { TransactionDescription($0) } }
    if let transactions, !transactions.isEmpty { report(.measured(transactions)) }
  }

  private func summary(_ loaded: LoadedResponse, _ head: HTTPResponseHead, total: Int64) -> ResponseSummary {
    var summary = ResponseSummary(url: loaded.response.url ?? url, head: head, expectedContentLength: total)
    // The queue has it, and no password; a redirect may name one, too.
    summary.url = PasswordURL(summary.url).url
    return summary
  }
}

extension DownloadRun: DownloadClient {
  func downloadAdvanced(_ event: DownloadEvent) {
    context.loop.assertInEventLoop()
    // A count from before may be higher than what is there now.
    cancelDelayedReport()
    switch event {
    case .began(let loaded, let expected, _):
      expectedTotal = expected ?? -1
      tellResponse(summary(loaded, head(of: loaded), total: loaded.response.expectedContentLength))
    case .resumed(let loaded, let offset, let expected):
      expectedTotal = expected ?? -1
      // In this order: the response may say less of the length than the part did.
      tellResponse(part.response ?? summary(loaded, head(of: loaded), total: expectedTotal))
      report(.resumed(offset: offset, expectedTotal: expectedTotal))
    case .continued(let expected):
      expectedTotal = expected ?? -1
      // A server that sends small parts makes many requests.
      context.transactions.removeFirst(max(0, context.transactions.count - TransactionDescription.maximumCount))
    case .wasComplete(let loaded, let count):
      expectedTotal = count
      if part.response == nil { part.response = summary(loaded, HTTPResponseHead(status: 200), total: count) }
    case .startsOver(let reason): runner.log.notice("transfer \(job.id) starts over: \(reason)")
    // Such an answer takes the place of the download, and begins it.
    case .answered: break
    }
  }

  func downloadReceived(_ bytes: Int, total: Int64) {
    context.loop.assertInEventLoop()
    let kept = sending?.kept ?? part.kept(of: total)
    let isProgress = !hasReportedProgress && kept.areProgress(beyond: job.countedBytes)
    hasReportedProgress = hasReportedProgress || isProgress
    latestCount = total
    switch throttle.advanced(at: .now(), mustReport: isProgress) {
    case .report: reportProgress()
    case .reportAfter(let delay):
      delayedReport = context.loop.scheduleTask(in: delay) { [weak self] in self?.reportDelayed() }
    case .wait: break
    }
  }

  private func reportDelayed() {
    context.loop.assertInEventLoop()
    delayedReport = nil
    guard throttle.delayEnded(at: .now()) else { return }
    reportProgress()
  }

  private func cancelDelayedReport() {
    context.loop.assertInEventLoop()
    delayedReport?.cancel()
    delayedReport = nil
    throttle.cancelDelay()
  }

  private func reportProgress() {
    let kept = sending?.kept ?? part.kept(of: latestCount)
    report(.progressed(received: latestCount, expectedTotal: expectedTotal, kept: kept))
  }

  func makeDestination(in context: LoadContext) async throws -> JournalledPart { part }

  private func tellResponse(_ response: ResponseSummary) {
    part.response = response
    report(.responded(response))
  }

  private func head(of loaded: LoadedResponse) -> HTTPResponseHead { loaded.head ?? HTTPResponseHead(status: 200) }
}

extension TransferFailure {
  /// The disk refused.
  fileprivate init(_ error: SystemError, url: String) {
    self.init(
      domain: NSURLErrorDomain, code: URLError.Code.cannotWriteToFile.rawValue,
      message: "The file could not be written: \(error).", url: url)
    underlyingDomain = NSPOSIXErrorDomain
    underlyingCode = Int(error.code)
  }
}

extension URLError {
  /// Its own sentence when it has one.
  var sentence: String {
    (userInfo[NSLocalizedDescriptionKey] as? String) ?? "The transfer failed (\(NSURLErrorDomain) \(code.rawValue))."
  }
}
