import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// One try at one download, from the request to the file under its complete name.
///
/// 1. The partial file is opened and cut to what was committed.
/// 2. The request asks for the rest, on the condition that the resource is unchanged; what comes back is checked.
/// 3. Chunks are written and committed on the way. Where the server sends a part of the rest only, or does not say how
///    much there is, 2 repeats behind the part.
/// 4. The end: sync, commit, rename, sync of the folder. The events are the engine's business.
/// All but the file work runs on the load's event loop.
final class DownloadRun: @unchecked Sendable {
  private let job: DownloadJob
  private let runner: DownloadRunner
  private let report: @Sendable (DownloadReport) -> Void
  private let context: LoadContext
  private let url: URL

  private struct Stop: Error {}
  private let isStopped = Mutex(false)

  // Confined to the loop from here on.
  private var writer: PartialFileWriter?
  private var offset: Int64
  private var validator: ResumeValidator?
  private var response: ResponseSummary?
  private var expectedTotal: Int64
  private var startOffset: Int64
  /// Where the part that is being received ends; nil when the body is the whole.
  private var partEnd: Int64?
  private var lastReport = NIODeadline.uptimeNanoseconds(0)

  /// How often an answer that does not fit what is stored makes this try begin at zero again.
  private static let maximumRestarts = 3
  private static let reportInterval = TimeAmount.milliseconds(100)

  init(
    _ job: DownloadJob, url: URL, runner: DownloadRunner, context: LoadContext,
    report: @escaping @Sendable (DownloadReport) -> Void
  ) {
    self.job = job
    self.runner = runner
    self.report = report
    self.url = url
    self.context = context
    offset = job.committedOffset
    startOffset = job.committedOffset
    validator = job.validator
    response = job.response
    expectedTotal = job.expectedTotal
  }

  /// Ends the try; what has arrived is kept. Callable from any thread.
  func stop() {
    isStopped.withLock { $0 = true }
    context.control.abort(Stop())
  }

  func start(_ ended: @escaping @Sendable (DownloadOutcome) -> Void) {
    context.priority = job.priority
    context.start { _ in ended(await self.run()) }
  }

  private func run() async -> DownloadOutcome {
    var outcome: DownloadOutcome
    do {
      outcome = try await download()
    } catch {
      outcome = await rescue(error)
    }
    await writer?.close()
    context.control.finish()
    return outcome
  }

  // MARK: The way to a file

  private func download() async throws -> DownloadOutcome {
    try await openPartial()
    startOffset = offset
    let idle = job.request.timeoutInterval ?? job.options.timeoutIntervalForRequest ?? 60
    context.control.startTimers(idle: idle, resource: job.remainingTime)
    var restarts = 0
    while restarts <= Self.maximumRestarts {
      runner.failpoint(.beforeFirstByte)
      let request = job.urlRequest(url, offset: offset, validator: validator)
      let loaded = try await LoadPipeline.load(LoadRequest(request), in: context)
      do {
        switch try await accept(loaded, asked: request) {
        case .body:
          try await receive(loaded)
          // Every part brings a byte at least, so this comes to an end where the resource has one.
          if isWhole { return try await publish() }
        case .complete:
          loaded.body.discard()
          return try await publish()
        case .again:
          restarts += 1
          loaded.body.discard()
        }
      } catch {
        loaded.body.discard()
        throw error
      }
    }
    throw ErrorMapping.make(
      .badServerResponse, because: "The server's answers never continued what it had sent before.")
  }

  private enum Acceptance { case body, complete, again }

  /// Decides what the body of this response is, and prepares the file for it.
  private func accept(_ loaded: LoadedResponse, asked request: URLRequest) async throws -> Acceptance {
    let head = loaded.head ?? HTTPResponseHead(status: 200)
    guard request.headerFields.contains("Range"), job.isResumable else {
      try await begin(loaded, head)
      return .body
    }
    let known = expectedTotal >= 0 ? expectedTotal : nil
    switch ResumePlan.outcome(
      status: head.status, fields: head.fields, offset: offset, validator: validator, total: known)
    {
    case .resume(let start, let end, let total):
      if let total { expectedTotal = total }
      let isNext = partEnd == start
      partEnd = end
      // A further part of what is being received is nobody's news.
      if isNext { return .body }
      if response == nil { response = summary(loaded, head, total: expectedTotal) }
      // In this order: the response may say less of the length than the part did.
      if let response { report(.responded(response)) }
      report(.resumed(offset: start, expectedTotal: expectedTotal))
      return .body
    case .alreadyComplete:
      expectedTotal = offset
      if response == nil { response = summary(loaded, HTTPResponseHead(status: 200), total: offset) }
      return .complete
    case .restart, .unrelated:
      try await begin(loaded, head)
      return .body
    case .mismatch(let mismatch):
      runner.log.notice("transfer \(job.id) starts over: \(mismatch.sentence)")
      try await reset()
      return .again
    }
  }

  /// A body that starts at zero.
  private func begin(_ loaded: LoadedResponse, _ head: HTTPResponseHead) async throws {
    try await reset()
    startOffset = 0
    expectedTotal = head.status == 204 || head.status == 304 ? 0 : loaded.response.expectedContentLength
    if job.request.method.uppercased() == "HEAD" { expectedTotal = 0 }
    let isWhole = head.status == 200 || head.status == 203
    validator =
      job.isResumable && isWhole
      ? ResumeValidator(fields: head.fields, receivedAt: Int64(Date().timeIntervalSince1970)) : nil
    let made = summary(loaded, head, total: loaded.response.expectedContentLength)
    response = made
    report(.responded(made))
  }

  /// Takes the body in, to its last byte and durably.
  private func receive(_ loaded: LoadedResponse) async throws {
    try await checkSpace()
    let writer = try await makeWriter()
    self.writer = writer
    while let chunk = try await loaded.body.next() {
      // A disk that is behind is no silence of the server's.
      try await context.control.whileClientHoldsLoad { try await writer.write(chunk) }
      if let end = announcedEnd, writer.received > end {
        // More than was announced can't be what was announced.
        try await reset()
        throw ErrorMapping.make(.badServerResponse, because: "The server sent more bytes than it had announced.")
      }
      reportProgress(writer.received)
      if runner.isArmed(.midBody), writer.received * 2 >= expectedTotal {
        try await writer.flush()
        runner.failpoint(.midBody)
      }
    }
    if let end = announcedEnd, writer.received < end {
      throw ErrorMapping.make(.networkConnectionLost, because: "The body ended before the announced length.")
    }
    try await writer.flush()
    offset = writer.received
    await writer.close()
    self.writer = nil
  }

  /// Where the body has to end; nil when the server did not say.
  private var announcedEnd: Int64? { partEnd ?? (expectedTotal >= 0 ? expectedTotal : nil) }

  /// A body that was the whole is so at its end; parts are once they add up to a total. While the server names none,
  /// only a request behind the last part can tell.
  private var isWhole: Bool { partEnd == nil || offset == expectedTotal }

  /// The file is whole: everything that its events need is committed, then it gets its complete name.
  private func publish() async throws -> DownloadOutcome {
    await writer?.close()
    writer = nil
    let count = offset
    expectedTotal = count
    guard let response else { throw ErrorMapping.make(.badServerResponse, because: "There was no response.") }
    let representation = self.representation
    try await onDisk { [runner, job] in
      let files = runner.files
      // Also an empty body is a file.
      let file = try files.disk.open(files.partial(job.id))
      defer { try? file.close() }
      try file.truncate(to: count)
      try file.sync()
      try runner.store.commit(offset: count, representation: representation, of: job.id)
      runner.failpoint(.afterLastByteBeforeRename)
      try files.disk.rename(files.partial(job.id), to: files.complete(job.id))
      try files.disk.syncDirectory(files.completeDirectory)
      runner.failpoint(.afterRenameBeforeEvent)
    }
    report(.progressed(received: count, expectedTotal: count))
    return .finished(response, byteCount: count)
  }

  // MARK: The file

  private func openPartial() async throws {
    let committed = offset
    let (runner, id) = (self.runner, job.id)
    let usable = try await onDisk {
      let file = try runner.files.disk.open(runner.files.partial(id))
      defer { try? file.close() }
      // What was written after the last commit may never have reached the disk.
      let usable = min(try file.size, committed)
      try file.truncate(to: usable)
      return usable
    }
    offset = usable
    // Without a validator nothing can ever be continued.
    if !job.isResumable || validator?.condition == nil, offset > 0 { try await reset() }
  }

  private func makeWriter() async throws -> PartialFileWriter {
    let (runner, id, representation) = (self.runner, job.id, self.representation)
    let file = try await onDisk { try runner.files.disk.open(runner.files.partial(id)) }
    return PartialFileWriter(file: file, offset: offset, pool: runner.pool, loop: context.loop) { offset, isFirst in
      // The file may be new, and is found after a power failure only if its name is on the disk as well.
      if isFirst { try runner.files.disk.syncDirectory(runner.files.partialDirectory) }
      try runner.store.commit(offset: offset, representation: isFirst ? representation : nil, of: id)
    }
  }

  /// Forgets what is stored: first in the queue, then on the disk, so that no crash in between makes the queue speak of
  /// bytes that are not there.
  private func reset() async throws {
    await writer?.close()
    writer = nil
    let hadBytes = offset > 0 || response != nil
    offset = 0
    partEnd = nil
    validator = nil
    response = nil
    expectedTotal = -1
    guard hadBytes else { return }
    let (runner, id) = (self.runner, job.id)
    try await onDisk {
      try runner.store.resetProgress(of: id)
      let file = try runner.files.disk.open(runner.files.partial(id))
      defer { try? file.close() }
      try file.truncate(to: 0)
    }
  }

  private func checkSpace() async throws {
    guard expectedTotal > offset else { return }
    let (files, needed) = (runner.files, expectedTotal - offset)
    let available = try await onDisk { try files.disk.freeSpace(at: files.partialDirectory) }
    if available < needed { throw NoSpace(needed: needed, available: available) }
  }

  private struct NoSpace: Error {
    let needed: Int64
    let available: Int64
  }

  private func onDisk<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await context.control.whileClientHoldsLoad {
      try await runner.pool.runIfActive(eventLoop: context.loop, work).get()
    }
  }

  private var representation: TransferStore.Representation? {
    response.map { .init(response: $0, validator: validator, expectedTotal: expectedTotal) }
  }

  // MARK: When it did not work

  private func rescue(_ error: any Error) async -> DownloadOutcome {
    if let writer {
      do {
        try await writer.flush()
      } catch {
        // The failure at hand says more than that the last bytes are lost with it; they are asked for again.
        runner.log.debug("transfer \(job.id): the last bytes were not kept: \(error)")
      }
      offset = writer.committed
    }
    let progressed = offset > startOffset
    if isStopped.withLock({ $0 }) { return .stopped(received: offset) }
    switch error {
    case let error as NoSpace: return .noSpace(needed: error.needed, available: error.available)
    case let error as SystemError where error.isNoSpace: return .noSpace(needed: 0, available: 0)
    case let error as SystemError:
      var failure = TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.cannotWriteToFile.rawValue,
        message: "The file could not be written: \(error).", url: job.request.url)
      failure.underlyingDomain = NSPOSIXErrorDomain
      failure.underlyingCode = Int(error.code)
      // The machine is short of something at the moment; what is on the disk is none the worse for it.
      if error.isTransient { return .retry(failure, progressed: progressed, received: offset) }
      return .failed(failure, response, received: offset)
    default: break
    }
    let mapped = ErrorMapping.urlError(error, url: url)
    let failure = TransferFailure(
      domain: NSURLErrorDomain, code: mapped.code.rawValue, message: mapped.sentence, url: job.request.url)
    // A wait that storage caused: the queue itself could not be written.
    if !(error is URLError), !(error is TransportError) {
      return .retry(failure, progressed: progressed, received: offset)
    }
    let verdict = RetryRule.verdict(
      on: mapped.code, method: job.request.method, failures: progressed ? 1 : job.failures + 1)
    return verdict == .retry
      ? .retry(failure, progressed: progressed, received: offset) : .failed(failure, response, received: offset)
  }

  // MARK: What is told

  private func reportProgress(_ received: Int64) {
    let now = NIODeadline.now()
    guard now - lastReport >= Self.reportInterval else { return }
    lastReport = now
    report(.progressed(received: received, expectedTotal: expectedTotal))
  }

  private func summary(_ loaded: LoadedResponse, _ head: HTTPResponseHead, total: Int64) -> ResponseSummary {
    ResponseSummary(
      url: loaded.response.url?.absoluteString ?? job.request.url, status: head.status,
      version: "HTTP/\(head.version.major).\(head.version.minor)",
      headers: head.fields.fields.map { HeaderField($0.name, $0.value) }, expectedContentLength: total)
  }
}

extension URLError {
  /// Its own words when it has any.
  var sentence: String {
    (userInfo[NSLocalizedDescriptionKey] as? String) ?? "The transfer failed (\(NSURLErrorDomain) \(code.rawValue))."
  }
}
