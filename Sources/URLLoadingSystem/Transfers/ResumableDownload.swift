import Foundation
import HTTPSemantics
import TransferProtocol

/// A download over HTTP or FTP that goes on with the bytes its destination holds. The one flow of all resumable downloads,
/// whatever their destination. Used on the load's event loop.
///
/// 1. The request asks for what is missing, provided that the resource is the same (RFC 9110 §14.2, §13.1.5).
/// 2. The answer is judged: it is the rest, a part of the rest, the whole, none of these, or says that nothing is left.
/// 3. The body is pulled into the destination, which holds the server back while its disk is behind, and is checked
///    against the announced length.
/// 4. What was received is compared with what the app expects, where it does. Bytes of several answers that are not what is
///    expected may have come together by mistake: the download begins at zero, once.
/// 5. Where the server sent a part of the rest only, or does not say how long the whole is, 1 repeats behind the part.
package final class ResumableDownload<Client: DownloadClient> {
  package typealias Destination = Client.Destination

  private let request: URLRequest
  package let destination: Destination
  private let client: Client
  private let policy: DownloadPolicy
  private let context: LoadContext
  /// The representation that is received, or was received by an earlier try.
  private var representation: DownloadRepresentation
  /// The offset at which the part ends that is being received; nil when the body is the whole.
  private var partEnd: Int64?
  private var hasResumed = false
  private let expectation: ContentExpectation?
  /// Whether the bytes are of more than one answer.
  private var isJoined = false
  private var hasMismatched = false
  private var restarts = 0

  /// How often an answer that does not fit what is kept makes the download begin at zero again.
  private let maximumRestarts = 3

  /// - Parameters:
  ///   - request: the request as the app means it, without what asks for a rest.
  ///   - destination: holds what an earlier try received.
  ///   - representation: what those bytes are of.
  ///   - expectation: what the file must be; nil: anything.
  package init(
    _ request: URLRequest, into destination: Destination, of representation: DownloadRepresentation,
    expecting expectation: ContentExpectation? = nil, for client: Client, policy: DownloadPolicy,
    in context: LoadContext
  ) {
    self.expectation = expectation
    self.request = request
    self.destination = destination
    self.representation = representation
    self.client = client
    self.policy = policy
    self.context = context
  }

  /// Downloads what is missing. Returns the destination that holds the file, which is another one when an unrelated
  /// answer became the file.
  package func run() async throws -> Destination {
    context.loop.assertInEventLoop()
    if destination.received > 0, !representation.canBeContinued || !request.isResumableDownload {
      try await startOver()
    }
    while true {
      let (asking, asksForRest) = nextRequest()
      let loaded = try await LoadPipeline.load(LoadRequest(asking), in: context)
      do {
        if let holder = try await take(loaded, asksForRest: asksForRest) { return holder }
      } catch {
        loaded.body.discard()
        throw error
      }
    }
  }

  /// The same for a download whose first answer is here already, and is the whole.
  package func run(with loaded: LoadedResponse) async throws -> Destination {
    context.loop.assertInEventLoop()
    do {
      try checkAnswer(loaded)
      representation = describe(loaded)
      try await receive(loaded, into: destination, representation, end: representation.total)
      if let holder = try await finish() { return holder }
    } catch {
      loaded.body.discard()
      throw error
    }
    return try await run()
  }

  /// After a failure: what a later try can go on with, and how many bytes of it are kept; nil when there is nothing.
  package func salvage() async -> (count: Int64, representation: DownloadRepresentation)? {
    context.loop.assertInEventLoop()
    guard representation.canBeContinued, request.isResumableDownload else { return nil }
    let count = await destination.salvage()
    guard count > 0, representation.total.map({ count <= $0 }) ?? true else { return nil }
    return (count, representation)
  }

  // MARK: Asking

  private func nextRequest() -> (request: URLRequest, asksForRest: Bool) {
    var asking = request
    guard destination.received > 0, request.isResumableDownload else { return (asking, false) }
    let fields = ResumePlan.requestFields(offset: destination.received, validator: representation.validator)
    for field in fields.fields { asking.headerFields[field.name] = field.value }
    return (asking, fields.contains("Range"))
  }

  // MARK: Judging

  /// Returns the destination that holds the file; nil when there is more to ask for.
  private func take(_ loaded: LoadedResponse, asksForRest: Bool) async throws -> Destination? {
    guard asksForRest else {
      if let refusal = policy.listedRefusal(loaded) { throw refusal }
      try await begin(loaded, isRestart: restarts > 0 || hasMismatched)
      return try await finish()
    }
    let head = loaded.head ?? loaded.downloadHead ?? HTTPResponseHead(status: 200)
    if let refusal = policy.listedRefusal(loaded) { throw refusal }
    let outcome = ResumePlan.outcome(
      status: head.status, fields: head.fields, offset: destination.received, validator: representation.validator,
      total: representation.total)
    switch outcome {
    // The proof is of this body alone, and nothing has judged the bytes that are here.
    case .resume where loaded.bodyProof != nil, .alreadyComplete where loaded.bodyProof != nil:
      return try await startOver(insteadOf: loaded, because: "The server proves each body by itself (auth-int).")
    case .resume(let start, let end, let total): return try await receivePart(loaded, from: start, to: end, of: total)
    case .alreadyComplete:
      loaded.body.discard()
      isJoined = true
      representation.total = destination.received
      client.downloadAdvanced(
        hasResumed
          ? .continued(expected: destination.received) : .wasComplete(loaded, count: destination.received))
      return try await finish()
    case .restart:
      try checkThatItMayRestart()
      try await begin(loaded, isRestart: true)
      return try await finish()
    case .unrelated:
      if policy.waitsForServer, let refusal = PassingRefusal(head) { throw refusal }
      try checkAnswer(loaded)
      try checkThatItMayRestart()
      return try await takeInstead(loaded)
    case .mismatch(let mismatch): return try await startOver(insteadOf: loaded, because: mismatch.sentence)
    }
  }

  /// The answer continues nothing: the whole is asked for next.
  private func startOver(insteadOf loaded: LoadedResponse, because reason: String) async throws -> Destination? {
    try checkThatItMayRestart()
    loaded.body.discard()
    restarts += 1
    guard restarts <= maximumRestarts else {
      throw ErrorMapping.make(
        .badServerResponse, because: "The server's answers never continued what it had sent before. \(reason)")
    }
    client.downloadAdvanced(.startsOver(because: reason))
    try await startOver()
    return nil
  }

  private func checkThatItMayRestart() throws {
    // An event that the client was told of can't be taken back; a later try finds out for itself, and begins at zero.
    guard !hasResumed || policy.restartsAfterResuming else {
      throw ErrorMapping.make(.networkConnectionLost, because: "The server did not send the parts that are left.")
    }
  }

  private func startOver() async throws {
    try await destination.reset()
    representation = DownloadRepresentation(validator: nil, total: nil)
    partEnd = nil
    hasResumed = false
    isJoined = false
  }

  // MARK: Expectations

  /// An answer that can't be what is expected has no body that is worth receiving.
  private func checkAnswer(_ loaded: LoadedResponse) throws {
    guard let expectation else { return }
    if let status = (loaded.head ?? loaded.downloadHead)?.status, ![200, 203, 206].contains(status) {
      throw ContentMismatch.status(status).urlError
    }
    guard let expected = expectation.byteCount, let total = describe(loaded).total, total != expected else { return }
    throw ContentMismatch.byteCount(expected: expected, received: total).urlError
  }

  /// Part of another resource than the expected one.
  private func checkTotal() async throws {
    guard let expected = expectation?.byteCount, let total = representation.total, total != expected else { return }
    try await startOver()
    throw ContentMismatch.byteCount(expected: expected, received: total).urlError
  }

  private func mismatch() async throws -> ContentMismatch? {
    guard let expectation else { return nil }
    if let expected = expectation.byteCount, destination.received != expected {
      return .byteCount(expected: expected, received: destination.received)
    }
    guard let expected = expectation.sha256 else { return nil }
    let received = try await destination.sha256()
    return received == expected ? nil : .sha256(expected: expected, received: received)
  }

  // MARK: Receiving

  private func begin(_ loaded: LoadedResponse, isRestart: Bool) async throws {
    try await startOver()
    try checkAnswer(loaded)
    representation = describe(loaded)
    client.downloadAdvanced(.began(loaded, expected: representation.total, isRestart: isRestart))
    try await receive(loaded, into: destination, representation, end: representation.total)
  }

  private func receivePart(
    _ loaded: LoadedResponse, from start: Int64, to end: Int64, of total: Int64?
  ) async throws -> Destination? {
    representation.total = total ?? representation.total
    isJoined = true
    try await checkTotal()
    client.downloadAdvanced(
      hasResumed
        ? .continued(expected: representation.total) : .resumed(loaded, at: start, expected: representation.total))
    hasResumed = true
    try await receive(loaded, into: destination, representation, end: end)
    // Every part brings a byte at least, so this comes to an end where the resource has one. While the server names no
    // total, only a request behind the last byte can tell that it was the last.
    return representation.total == destination.received ? try await finish() : nil
  }

  /// A failure, say, is a response like any other, and becomes the file.
  private func takeInstead(_ loaded: LoadedResponse) async throws -> Destination? {
    switch policy.unrelatedAnswer {
    case .replaces:
      try await begin(loaded, isRestart: true)
      return try await finish()
    case .besides:
      // Nothing would compare it with what is expected.
      if let expectation, expectation.isSound { throw ContentMismatch.status(loaded.head?.status ?? 0).urlError }
      // It says nothing about the bytes that are kept: a server that is overloaded today may have the rest tomorrow.
      let answer = describe(loaded)
      client.downloadAdvanced(.answered(loaded))
      let place = try await client.makeDestination(in: context)
      do {
        try await receive(loaded, into: place, answer, end: answer.total)
        try await place.finish()
        return place
      } catch {
        await place.abandon()
        throw error
      }
    }
  }

  /// Takes a body in, to its last byte.
  /// - Parameter end: where it has to end; nil when the server did not say.
  private func receive(
    _ loaded: LoadedResponse, into place: Destination, _ representation: DownloadRepresentation, end: Int64?
  ) async throws {
    try await place.begin(representation)
    while let chunk = try await loaded.body.next() {
      let total = place.received + Int64(chunk.readableBytes)
      if let end, total > end {
        // More than was announced can't be what was announced.
        if place === destination { self.representation = DownloadRepresentation(validator: nil, total: nil) }
        try await place.reset()
        throw ErrorMapping.make(.badServerResponse, because: "The server sent more bytes than it had announced.")
      }
      if let expected = expectation?.byteCount, total > expected {
        // It would be removed at its end, which may be far.
        if place === destination { try await startOver() } else { try await place.reset() }
        throw ContentMismatch.byteCount(expected: expected, received: total).urlError
      }
      client.downloadReceived(chunk.readableBytes, total: total)
      try await place.write(chunk)
    }
    if let end, place.received < end {
      throw ErrorMapping.make(.networkConnectionLost, because: "The body ended before the announced length.")
    }
  }

  /// nil where the download begins at zero: what was received is not what is expected.
  private func finish() async throws -> Destination? {
    guard let mismatch = try await mismatch() else {
      try await destination.finish()
      return destination
    }
    let mayBeginAgain = isJoined && !hasMismatched && policy.restartsAfterResuming
    hasMismatched = true
    try await startOver()
    guard mayBeginAgain else { throw mismatch.urlError }
    client.downloadAdvanced(.startsOver(because: mismatch.sentence))
    return nil
  }

  /// The representation of which the body of a response that is no part is the whole.
  private func describe(_ loaded: LoadedResponse) -> DownloadRepresentation {
    guard let head = loaded.head ?? loaded.downloadHead else {
      return DownloadRepresentation(validator: nil, total: nil)
    }
    var total: Int64?
    // RFC 9112 §6.3: these have no body, whatever they say of its length.
    if [204, 304].contains(head.status) || request.httpMethod == "HEAD" {
      total = 0
    } else if loaded.response.expectedContentLength >= 0 {
      total = loaded.response.expectedContentLength
    }
    // The server proves a whole body: what came of one is not known to be the server's, and is not kept.
    let isWhole = (head.status == 200 || head.status == 203) && loaded.bodyProof == nil
    let validator =
      isWhole && request.isResumableDownload
      ? ResumeValidator(fields: head.fields, receivedAt: Int64(Date().timeIntervalSince1970)) : nil
    return DownloadRepresentation(validator: validator, total: total)
  }
}

extension PassingRefusal {
  fileprivate init?(_ head: HTTPResponseHead) {
    self.init(status: head.status, fields: head.fields, now: Int64(Date().timeIntervalSince1970))
  }
}
