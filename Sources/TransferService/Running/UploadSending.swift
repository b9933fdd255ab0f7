import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// The sending half of a background upload: `ResumableUpload` with the service's copy of the file as its source. Keeps in the
/// queue where the server has the upload, so that a later try, or a later life of the service, goes on there.
/// Confined to the load's event loop; the queue is written on the runner's pool.
final class UploadSending: @unchecked Sendable {
  private let job: DownloadJob
  private let runner: DownloadRunner
  private let report: @Sendable (DownloadReport) -> Void
  private let context: LoadContext

  // Confined to the loop.
  private var stored: StoredUpload
  /// An earlier try may have brought the server the whole request. Nothing of this try changes that, until the server
  /// says that it has not got everything.
  private var mayHaveArrivedBefore: Bool
  private var upload: ResumableUpload<UploadSending>?
  private var source: UploadSource?
  /// The app's own file, which is sent where there is no copy. It stays open, so that no other file takes its place.
  private var original: SourceFile?
  private var throttle = ProgressThrottle()
  private var delayedReport: Scheduled<Void>?
  private var hasAnswer = false
  private var isWriting = false
  private var hasUnwritten = false
  /// The last bytes are held back until the queue has it that they may leave.
  private var awaitsEnding = false
  /// As the journal has it.
  private var journalled: StoredUpload
  private var idleWaiters: [() -> Void] = []

  /// So many bytes before the end of the file the queue notes that the end is near. A smaller file is noted before its
  /// first byte is sent.
  private static let endLength: Int64 = 8 << 20
  /// So many bytes may have reached the server that do not count as sent yet.
  static let onTheWay: Int64 = 1 << 20

  init(
    _ job: DownloadJob, runner: DownloadRunner, in context: LoadContext,
    report: @escaping @Sendable (DownloadReport) -> Void
  ) {
    journalled = job.upload ?? StoredUpload(path: "")
    self.job = job
    self.runner = runner
    self.context = context
    self.report = report
    stored = job.upload ?? StoredUpload(path: "")
    mayHaveArrivedBefore = stored.isEnding == true
  }

  // MARK: The run

  /// Sends the file, or what the server has not got of it. Returns the answer, whose body is still to be pulled.
  func send(_ request: URLRequest) async throws -> LoadedResponse {
    context.loop.assertInEventLoop()
    if let problem = stored.problem { throw ErrorMapping.make(.cannotOpenFile, because: problem) }
    guard let identity = stored.identity else {
      throw ErrorMapping.make(.cannotOpenFile, because: "The transfer service's record of the file is damaged.")
    }
    guard stored.isEnding != true || stored.place != nil || isHarmless else {
      throw ErrorMapping.make(
        .networkConnectionLost,
        because: "The whole file had been sent when the try was interrupted. The server may have acted on the request, "
          + "which is not repeated: its method is \(job.request.method), it has no Idempotency-Key, and the server can't "
          + "resume uploads.")
    }
    do { return try await send(request, from: try await open(identity)) } catch {
      // The server has had a part at most, and acts on none.
      guard CopyFault.isDamage(error), sendsCopy else { throw error }
      let source = try await openOriginal(identity, because: Self.damage)
      return try await send(request, from: source)
    }
  }

  private func send(_ request: URLRequest, from source: UploadSource) async throws -> LoadedResponse {
    self.source = source
    stored.sent = 0
    if !isHarmless {
      // Before most of a large file is sent, for which no note could be made at its end.
      if stored.size <= Self.endLength { try await noteEnding() } else { try await runner.journals?.probe(job.id) }
    }
    guard let version = ResumableUpload<UploadSending>.versionToOffer(in: request) else {
      // The app uses the protocol itself.
      return try await LoadPipeline.load(LoadRequest(request, body: source.body), in: context)
    }
    if let place = stored.place.flatMap({ UploadPlace($0) }) {
      do { return try await run(request, from: source, to: place) } catch {
        guard upload?.place.resource == nil, mayBeginAnew else { throw error }
        runner.log.notice("transfer \(job.id): the server has lost the upload, which begins anew")
      }
    }
    return try await run(request, from: source, to: UploadPlace(version: version))
  }

  private func run(
    _ request: URLRequest, from source: UploadSource, to place: UploadPlace
  ) async throws -> LoadedResponse {
    let upload = ResumableUpload(
      request, from: source, to: place, busyServer: job.isLastTry ? .answers : .endsTheTry, for: self, in: context)
    self.upload = upload
    return try await upload.run()
  }

  /// The copy, or without one the app's file as it was.
  private func open(_ identity: URLLoadingSystem.FileIdentity) async throws -> UploadSource {
    let (files, id, copy, log) = (runner.files, job.id, stored.copyName, runner.log)
    let hasCopy = try await context.loop.blocking(on: runner.pool) {
      guard let copy else { return false }
      // Nothing is sent that a link leads to.
      if let folder = try files.setAsideUnlessFile(id, in: TransferFiles.uploadName) {
        log.error("what had the name of the copy for transfer \(id) was no file, and is in \(folder)")
      }
      try files.nameUpload(copy, of: id)
      if try files.disk.size(of: files.upload(id)) != nil { return true }
      // A folder that is gone may come back with what is in it.
      guard try files.disk.size(of: files.uploadDirectory) != nil else {
        throw SystemError(ENOENT, "open", path: files.upload(id))
      }
      return false
    }
    guard hasCopy else { return try await openOriginal(identity) }
    if stored.sealedCopy != nil { return try await openSealed(files.upload(id), identity) }
    return UploadSource(.file(URL(fileURLWithPath: files.upload(id))), length: identity.size)
  }

  /// The sealed copy. Where it can't be opened, the app's file has the same bytes if it is as it was.
  private func openSealed(_ copy: String, _ identity: URLLoadingSystem.FileIdentity) async throws -> UploadSource {
    let path = stored.path
    let problem: String
    if let key = job.copyKey {
      let chunks = SealedChunks(key: key, count: identity.size)
      let body = try await context.loop.blocking(on: runner.pool) {
        try SealedBody(copy: copy, chunks: chunks, path: path)
      }
      if let body { return UploadSource(.content(body), length: identity.size) }
      problem = Self.damage
    } else {
      problem = "The key to the transfer service's copy of the file is gone"
    }
    return try await openOriginal(identity, because: problem)
  }

  private static let damage = "The transfer service's copy of the file was changed or damaged on the disk"

  /// In place of the copy, of which the problem tells why it is of no use.
  private func openOriginal(
    _ identity: URLLoadingSystem.FileIdentity, because problem: String
  ) async throws -> UploadSource {
    runner.log.warning("transfer \(job.id): \(problem); the app's own file is sent if it is as it was")
    do { return try await openOriginal(identity) } catch let error as URLError where error.code == .cannotOpenFile {
      throw ErrorMapping.make(
        .cannotOpenFile,
        because: "\(problem), and the file does not exist any more or has changed since the task was created.")
    }
  }

  /// The app's own file. The app could read it when it made the task; a path may lead to any other file by now, which is not
  /// read.
  private func openOriginal(_ identity: URLLoadingSystem.FileIdentity) async throws -> UploadSource {
    let (path, device, pool) = (stored.path, stored.device, runner.sourcePool)
    let file = try await context.loop.blocking(on: pool) { () -> SourceFile? in
      do {
        let file = try SourceFile.open(path)
        let status = try file.regularStatus()
        let isSame =
          URLLoadingSystem.FileIdentity(status) == identity && (device ?? UInt64(status.st_dev)) == status.st_dev
        return isSame ? file : nil
      } catch let error as SystemError where !error.isTransient { return nil }
    }
    guard let file else { throw UploadSending.hasChanged }
    original = file
    // Its file system may hang, whether or not there is a copy of the file.
    context.bodyFilePool = pool
    // The name leads to the open file, whatever has become of its path.
    return UploadSource(
      .file(URL(fileURLWithPath: "/proc/self/fd/\(file.descriptor)")), length: identity.size, identity: identity,
      lookedAtOn: pool)
  }

  private static var hasChanged: URLError {
    ErrorMapping.make(
      .cannotOpenFile,
      because: "The file of the upload does not exist any more or has changed since the task was created, and there "
        + "is no copy of it.")
  }

  private func noteEnding() async throws {
    stored.isEnding = true
    let (runner, id, stored) = (self.runner, job.id, stored)
    try await context.loop.blocking(on: runner.pool) { try runner.store.setUpload(stored, of: id) }
    try await runner.journals?.keptForGood(id)
    journalled = stored
  }

  /// The head of the answer is here.
  func answered() {
    context.loop.assertInEventLoop()
    hasAnswer = true
  }

  /// The answer is here. What was sent counts only if the file is still what it was.
  func finish() async throws {
    context.loop.assertInEventLoop()
    try await source?.check(on: context.loop)
    report(.sent(sentBytes, kept: kept))
    keep()
  }

  /// The try is over. Returns when nothing is being written any more.
  func close(after outcome: DownloadOutcome) async {
    context.loop.assertInEventLoop()
    switch outcome {
    case .stopped, .needsApp: if !mayHaveArrived { stored.isEnding = nil }
    case .finished, .failed: break
    // It was judged that the request may be made again. A server that loses the place may have had the whole.
    case .retry, .refused, .storageUnavailable, .noSpace:
      if !mayHaveArrivedBefore, stored.place == nil || !mayHaveArrived { stored.isEnding = nil }
    }
    (upload, source, original) = (nil, nil, nil)
    delayedReport?.cancel()
    throttle.cancelDelay()
    keep()
    guard isWriting else { return }
    await withCheckedContinuation { done in idleWaiters.append { done.resume() } }
  }

  /// Calls back on the loop, once, when the queue has what a later try can go on with, or could not take it.
  func whenKept(_ ended: @escaping () -> Void) {
    context.loop.assertInEventLoop()
    if isWriting { idleWaiters.append(ended) } else { ended() }
  }

  // MARK: What a later try can go on with

  /// The bytes that the server is known to have, where it says which.
  var kept: KeptBytes {
    context.loop.assertInEventLoop()
    return KeptBytes(stored.place?.acknowledged ?? 0, of: stored.identity?.size)
  }

  /// Whether the request may be repeated: where the server says how much it has, where another request does no harm, or
  /// where the server can't have had the whole of this one (RFC 9112 §8: it does not act on an incomplete message).
  var mayRepeat: Bool {
    context.loop.assertInEventLoop()
    return stored.place != nil || isHarmless || !mayHaveArrived
  }

  /// Whether a stop takes nothing that can't be had again. A server that keeps the whole gives its answer once: asked later, it
  /// says only that it has everything.
  var mayStop: Bool {
    context.loop.assertInEventLoop()
    guard upload != nil, stored.place != nil else { return mayRepeat }
    return !hasAnswer && stored.sent < stored.size
  }

  private var mayHaveArrived: Bool { mayHaveArrivedBefore || context.mayHaveBeenActedOn && !wasCutShort }

  /// Whether the answer could not be kept to a request that may not be repeated.
  var isAnsweredForGood: Bool {
    context.loop.assertInEventLoop()
    return hasAnswer && !mayRepeat
  }

  /// The error that ended the try. A copy of the service's own that can't be read now is no failure of the upload.
  func cause(of error: any Error) -> any Error {
    context.loop.assertInEventLoop()
    guard sendsCopy else { return error }
    return CopyFault.passing(error, at: runner.files.upload(job.id)) ?? error
  }

  private var sendsCopy: Bool { source != nil && original == nil }

  private var wasCutShort: Bool { !hasAnswer && stored.size - stored.sent > Self.onTheWay }

  /// The server that has lost the place may have had the whole.
  private var mayBeginAnew: Bool { isHarmless || stored.isEnding != true }

  private var isHarmless: Bool { job.request.isRepeatable }

  private var sentBytes: SentBytes { SentBytes(stored.sent, of: stored.size) }

  // MARK: What the load tells

  func receivedInformational(_ response: HTTPURLResponse) {
    context.loop.assertInEventLoop()
    upload?.receivedInformational(response)
  }

  func sent(_ total: Int64, of expected: Int64) {
    context.loop.assertInEventLoop()
    // The HEAD that asks for the offset has no body.
    guard total > 0 else { return }
    stored.sent = upload?.progress(ofBody: total, expected: expected).sent ?? total
    if stored.size - stored.sent <= Self.endLength { holdLastBytes() }
    // Nothing moves while the last bytes are held back, so the count is told at once.
    switch throttle.advanced(at: .now(), mustReport: stored.sent >= stored.size || awaitsEnding) {
    case .report: report(.sent(sentBytes, kept: kept))
    case .reportAfter(let delay):
      delayedReport = context.loop.scheduleTask(in: delay) { [weak self] in self?.reportDelayed() }
    case .wait: break
    }
  }

  private func reportDelayed() {
    context.loop.assertInEventLoop()
    delayedReport = nil
    guard throttle.delayEnded(at: .now()) else { return }
    report(.sent(sentBytes, kept: kept))
  }

  /// A service that is killed while the last bytes leave must know in its next life that the server may have had them.
  private func holdLastBytes() {
    guard !isHarmless, stored.isEnding != true else { return }
    stored.isEnding = true
    awaitsEnding = true
    context.control.suspend()
    keep()
  }

  // MARK: The queue

  /// One write at a time; what changes meanwhile is written after it.
  private func keep() {
    guard !isWriting else { return hasUnwritten = true }
    (isWriting, hasUnwritten) = (true, false)
    let (runner, id, stored) = (self.runner, job.id, stored)
    let journals = stored.isJournalled(by: journalled) ? nil : runner.journals
    runner.pool.runIfActive(eventLoop: context.loop) { try runner.store.setUpload(stored, of: id) }
      .flatMapWithEventLoop { _, loop in
        journals?.kept(id, lasts: stored.isEnding == true, on: loop) ?? loop.makeSucceededVoidFuture()
      }
      .whenComplete { self.wrote(stored, $0) }
  }

  private func wrote(_ written: StoredUpload, _ result: Result<Void, any Error>) {
    context.loop.assertInEventLoop()
    isWriting = false
    switch result {
    case .success:
      if written.place != nil, journalled.place == nil {
        runner.log.info("upload \(job.id) can go on where its server has it")
      }
      journalled = written
      if awaitsEnding, written.isEnding == true {
        awaitsEnding = false
        context.control.resume()
      }
    case .failure(let error):
      // A later try asks the server, or begins anew.
      runner.log.warning("the place of upload \(job.id) was not kept: \(error)")
      if awaitsEnding {
        awaitsEnding = false
        context.control.abort(error)
      }
    }
    if hasUnwritten { return keep() }
    let waiters = idleWaiters
    idleWaiters = []
    for waiter in waiters { waiter() }
  }
}

extension UploadSending: UploadClient {
  func uploadAdvanced(_ place: UploadPlace) {
    context.loop.assertInEventLoop()
    let acknowledged = place.acknowledged > (stored.place?.acknowledged ?? 0)
    if place.acknowledged > 0, place.acknowledged < stored.size { mayHaveArrivedBefore = false }
    stored.place = place.resource.map {
      .init(resource: $0.absoluteString, version: place.version.number, acknowledged: place.acknowledged)
    }
    if acknowledged { report(.sent(sentBytes, kept: kept)) }
    // The rest may be sent at a time, before any of it counts as sent.
    if place.acknowledged > 0, stored.size - place.acknowledged <= Self.endLength { holdLastBytes() }
    keep()
  }
}

extension UploadPlace {
  fileprivate init?(_ place: StoredUpload.Place) {
    guard let version = UploadVersion(String(place.version)), let resource = URL(string: place.resource) else {
      return nil
    }
    self.init(version: version, resource: resource)
  }
}
