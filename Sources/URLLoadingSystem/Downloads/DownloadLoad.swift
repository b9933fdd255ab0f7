import Foundation
import HTTPSemantics
import NIOCore

/// The load of an `NSURLDownload`: takes its request through the pipeline and the body to its file, as
/// `ResumableDownload` does, and tells and asks the delegate. Confined to the load's event loop.
@available(*, deprecated)
final class DownloadLoad: LoadClient, DownloadClient, @unchecked Sendable {
  private let download: NSURLDownload
  private let original: URLRequest
  private let start: DownloadStart
  private let hasDelegate: Bool
  private let session: URLSession
  private let body: SpooledBody?
  private let received = ReceivedLength()
  /// The request that is being loaded.
  private var current: URLRequest
  private var response: URLResponse?
  /// Set when the load begins.
  private var loop: (any EventLoop)?

  init(
    _ download: NSURLDownload, of request: URLRequest, from start: DownloadStart, hasDelegate: Bool,
    in session: URLSession
  ) {
    self.download = download
    original = request
    current = request
    self.start = start
    self.hasDelegate = hasDelegate
    self.session = session
    body = request.httpBodyStream.map { SpooledBody(SendableInputStream($0)) }
  }

  private var isResumed: Bool { if case .rest = start { true } else { false } }

  // MARK: The load

  func run(in context: LoadContext) async {
    context.loop.assertInEventLoop()
    loop = context.loop
    post { $0.downloadDidBegin($1) }
    var flow: ResumableDownload<DownloadLoad>?
    var file: DownloadedFile?
    do {
      let request = try await firstRequest(in: context)
      let destination = try await makeFile(in: context)
      let present = ResumableDownload(
        request, into: destination, of: representation, for: self, policy: .ofSession, in: context)
      (flow, file) = (present, destination)
      _ = try await present.run()
      context.control.finish()
      body?.abandon()
      end { $0.downloadDidFinish($1) }
    } catch {
      await leave(file, flow)
      context.control.finish()
      body?.abandon()
      let failure = ErrorMapping.urlError(error, url: current.url)
      download.lane.append { [download] in download.fail(with: failure) }
    }
  }

  /// The request as the delegate wants it. The timers run from then on.
  private func firstRequest(in context: LoadContext) async throws -> URLRequest {
    if case .broken(let error) = start { throw error }
    var request = original
    if let body { request.httpBodyStream = SpooledBodyStream(body) }
    let proposal = request
    let answer = try await ask(URLRequest?.none, in: context) { download, answer in
      answer(download.tell { $0.download(download, willSend: proposal, redirectResponse: nil) } ?? proposal)
    }
    guard let answer else { throw ErrorMapping.cancelled }
    current = answer
    let idle = answer.isTimeoutIntervalSet ? answer.timeoutInterval : context.configuration.timeoutIntervalForRequest
    context.control.startTimers(idle: idle, resource: context.configuration.timeoutIntervalForResource)
    return answer.completed(by: context.configuration.additionalHeaders)
  }

  private var representation: DownloadRepresentation {
    guard case .rest(let data, _) = start else { return DownloadRepresentation(validator: nil, total: nil) }
    return DownloadRepresentation(validator: data.validator, total: data.expectedTotal)
  }

  private func makeFile(in context: LoadContext) async throws -> DownloadedFile {
    guard case .rest(let data, let path) = start else {
      return DownloadedFile(in: context) { try await self.choose(in: context) }
    }
    let file = try await context.loop.blocking { try DownloadPlace.reopen(path, size: data.bytesReceived) }
    return DownloadedFile(file, at: data.bytesReceived, in: context)
  }

  /// Keeps the file of a download that failed for a later one, or removes it.
  private func leave(_ file: DownloadedFile?, _ flow: ResumableDownload<DownloadLoad>?) async {
    guard let file, let flow else { return }
    guard !download.deletesFileUponFailure else { return await file.abandon() }
    let kept = await flow.salvage()
    // Also where the rest can't be asked for, what came is in the file.
    if kept == nil { _ = await file.salvage() }
    file.file?.unlock()
    guard file.canBeResumed, let kept else { return }
    download.keep(
      DownloadStart.resumeData(
        after: kept.count, of: kept.representation, original: original.withoutStream, current: current.withoutStream))
  }

  // MARK: The file

  /// Asks how to decode and where to put the file, and makes it.
  private func choose(in context: LoadContext) async throws -> DownloadedFile.Choice {
    context.loop.assertInEventLoop()
    let suggestion = response?.suggestedFilename ?? "unknown"
    let layers = FileEncoding.layers(mediaType: response?.mimeType, filename: suggestion)
    let encodings = try await ask([FileEncoding](), in: context) { download, answer in
      answer(
        Array(
          layers.prefix { layer in
            download.tell { $0.download(download, shouldDecodeSourceDataOfMIMEType: layer.mediaType) } ?? false
          }))
    }
    let name = encodings.reduce(suggestion) { $1.decodedName($0) }
    let place = try await ask(DownloadPlace?.none, in: context) { download, answer in
      download.askForDestination(name) { answer($0) }
    }
    guard let place else { throw ErrorMapping.cancelled }
    let file = try await context.loop.blocking { try place.create() }
    let path = file.url.path
    post { $0.download($1, didCreateDestination: path) }
    return DownloadedFile.Choice(file: file, encodings: encodings)
  }

  // MARK: Telling and asking

  private func post(_ call: @escaping @Sendable (any NSURLDownloadDelegate, NSURLDownload) -> Void) {
    download.lane.append { [download] in
      _ = download.tell { call($0, download) }
    }
  }

  private func end(_ call: @escaping @Sendable (any NSURLDownloadDelegate, NSURLDownload) -> Void) {
    download.lane.append { [download] in
      download.end { call($0, download) }
    }
  }

  /// Asks on the run loop; the load waits, and its idle timer with it. Aborting the load ends the wait.
  private func ask<Answer: Sendable>(
    _ fallback: Answer, in context: LoadContext,
    _ question: @escaping @Sendable (NSURLDownload, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    let reference = PendingAnswerReference<Answer>()
    return try await context.control.whileClientHoldsLoad {
      try await context.control.abortable(onAbort: { _ in reference.answer?.abandon() }) {
        await withUnsafeContinuation { continuation in
          let pending = PendingAnswer(continuation, fallback: fallback)
          reference.answer = pending
          download.lane.append { [download] in question(download) { pending.give($0) } }
        }
      }
    }
  }

  // MARK: LoadClient

  func load(_ context: LoadContext, isUsing request: URLRequest) {
    context.loop.assertInEventLoop()
    current = request
  }

  func load(
    _ context: LoadContext, willFollow newRequest: URLRequest, from response: HTTPURLResponse
  ) async throws -> URLRequest? {
    context.loop.assertInEventLoop()
    let answer = try await ask(URLRequest?.none, in: context) { download, answer in
      answer(download.tell { $0.download(download, willSend: newRequest, redirectResponse: response) } ?? newRequest)
    }
    guard let answer else { throw ErrorMapping.cancelled }
    return answer
  }

  func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream? {
    context.loop.assertInEventLoop()
    guard offset == 0 else { return nil }
    return body.map { SendableInputStream(SpooledBodyStream($0)) }
  }

  func load(_ context: LoadContext, mayAnswerChallengesOf method: String) -> Bool { hasDelegate }

  func load(_ context: LoadContext, didReceive challenge: URLAuthenticationChallenge) async throws -> ChallengeAnswer {
    context.loop.assertInEventLoop()
    return try await ask(ChallengeAnswer(.cancelAuthenticationChallenge), in: context) { download, answer in
      let sender = OlderChallengeSender({ answer(ChallengeAnswer($0, $1)) }, willCancel: { download.cancelled($0) })
      let asked = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender)
      let isAsked = download.tell { delegate in
        guard delegate.download(download, canAuthenticateAgainstProtectionSpace: challenge.protectionSpace),
          challenge.needsCredential
        else { return false }
        delegate.download(download, didReceive: asked)
        return true
      }
      if isAsked == false { sender.performDefaultHandling(for: asked) }
    }
  }

  func load(_ context: LoadContext, defaultCredentialFor space: URLProtectionSpace) async throws -> URLCredential? {
    context.loop.assertInEventLoop()
    return try await session.credentialStorage?.defaultCredential(for: space, task: nil, in: context)
  }

  func load(_ context: LoadContext, keep credential: URLCredential, for space: URLProtectionSpace) {
    session.credentialStorage?.keep(credential, for: space, task: nil)
  }

  // MARK: DownloadClient

  func downloadAdvanced(_ event: DownloadEvent) {
    loop?.assertInEventLoop()
    switch event {
    case .began(let loaded, _, _): began(loaded, at: 0)
    case .resumed(let loaded, let offset, _): began(loaded, at: offset)
    case .wasComplete(let loaded, let count): began(loaded, at: count)
    case .answered(let loaded): response = loaded.response
    case .continued, .startsOver: break
    }
  }

  private func began(_ loaded: LoadedResponse, at offset: Int64) {
    let response = loaded.response
    self.response = response
    if isResumed {
      post { $0.download($1, willResumeWith: response, fromByte: offset) }
    } else {
      post { $0.download($1, didReceive: response) }
    }
  }

  func downloadReceived(_ bytes: Int, total: Int64) {
    guard received.add(bytes) else { return }
    let received = self.received
    post { $0.download($1, didReceiveDataOfLength: received.take()) }
  }

  /// The partial file is not to be lost for an answer that is no part of it.
  func makeDestination(in context: LoadContext) async throws -> DownloadedFile {
    context.loop.assertInEventLoop()
    let status = (response as? HTTPURLResponse).map { " with status \($0.statusCode)" } ?? ""
    throw ErrorMapping.make(
      .badServerResponse, because: "The server answered\(status) instead of sending the rest of the file.")
  }
}

extension URLRequest {
  /// Without its stream, which can't be written down.
  fileprivate var withoutStream: URLRequest {
    var request = self
    request.httpBodyStream = nil
    return request
  }
}
