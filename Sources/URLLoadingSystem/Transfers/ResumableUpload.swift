import Foundation
import HTTPSemantics

/// An upload that is resumed after its connection breaks (draft-ietf-httpbis-resumable-upload). The one flow of all
/// resumable uploads, whatever their source. Used on the load's event loop.
///
/// 1. The request says that it is a whole upload. A server that can resume answers at once with 104 and the place where
///    it keeps the upload; any other ignores it.
/// 2. After a cut, or an answer that says that the server has not got everything, the upload asks there with HEAD how
///    much has arrived, and sends the rest with PATCH, in parts when the server wants that. It gives up when three tries
///    in a row bring nothing. A server that is busy meanwhile is waited for as `BusyServerPolicy` says.
/// 3. An upload that failed leaves in `place` what another one needs to do 2.
package final class ResumableUpload<Client: UploadClient> {
  package let source: UploadSource
  package private(set) var place: UploadPlace {
    didSet { if place != oldValue { client.uploadAdvanced(place) } }
  }

  private let request: URLRequest
  private let busyServer: BusyServerPolicy
  private let client: Client
  private let context: LoadContext
  /// The offset in the whole at which the body of the present request begins.
  private var base: Int64 = 0
  private var lacksStream = false

  /// Seconds before each try that follows one that brought nothing.
  private let pauses: [TimeInterval] = [0, 0.2, 1]
  /// After so many rounds there is a second between them, whatever they bring: a server that cuts every request short
  /// is not hammered.
  private let rapidRounds = 16

  /// - Parameters:
  ///   - request: the app's, without what resuming adds.
  ///   - place: where an earlier try got to; for a new upload, the version to offer.
  package init(
    _ request: URLRequest, from source: UploadSource, to place: UploadPlace, busyServer: BusyServerPolicy = .asksAgain,
    for client: Client, in context: LoadContext
  ) {
    self.request = request
    self.source = source
    self.place = place
    self.busyServer = busyServer
    self.client = client
    self.context = context
  }

  /// The version to offer; nil when the app uses the protocol itself, or asks for a version that is not known here.
  package static func versionToOffer(in request: URLRequest) -> UploadVersion? {
    guard request.url?.isHTTP == true,
      !["Upload-Complete", "Upload-Incomplete", "Upload-Offset"].contains(where: { request.headerFields.contains($0) })
    else { return nil }
    guard let wanted = request.headerFields["Upload-Draft-Interop-Version"] else { return .preferred }
    return UploadVersion(wanted)
  }

  /// Sends the whole, and the rest after each cut. Returns the final response, whose body is still to be pulled.
  package func run() async throws -> LoadedResponse {
    context.loop.assertInEventLoop()
    guard place.resource == nil else { return try await resume(after: nil) }
    var creation = request
    for field in place.version.creationFields.fields { creation.headerFields[field.name] = field.value }
    let loaded: LoadedResponse
    do {
      loaded = try await LoadPipeline.load(LoadRequest(creation, body: source.body), in: context)
    } catch {
      return try await resume(after: error)
    }
    guard isIncomplete(loaded) else { return loaded }
    // The server has made the upload and not taken all of it. Its answer may be cut short: there will be another.
    try await readRest(of: loaded)
    return try await resume(after: nil)
  }

  // MARK: What the load's client is told

  /// An interim response arrived: 104 says where the upload is.
  package func receivedInformational(_ response: HTTPURLResponse) {
    context.loop.assertInEventLoop()
    guard response.statusCode == 104 else { return }
    place.note(UploadAnswer(response.head.fields), at: response.url)
  }

  /// How much of the whole is sent when so much of the present request's body is. `expected` is -1 when it is not
  /// known.
  package func progress(ofBody sent: Int64, expected: Int64) -> (sent: Int64, expected: Int64) {
    context.loop.assertInEventLoop()
    return (sent + base, source.length ?? (expected < 0 ? expected : expected + base))
  }

  /// The client was asked for a stream of the body and had none.
  package func streamIsMissing() {
    context.loop.assertInEventLoop()
    lacksStream = true
  }

  // MARK: Resuming

  private struct Impossible: Error { let sentence: String }

  /// Whether the answer to the request that began the upload says that there is more to send. If so, notes where.
  private func isIncomplete(_ loaded: LoadedResponse) -> Bool {
    guard let head = loaded.head, (200..<300).contains(head.status) else { return false }
    let answer = UploadAnswer(head.fields)
    guard answer.isComplete == false else { return false }
    place.note(answer, at: loaded.response.url)
    return true
  }

  /// - Parameter cause: what interrupted the upload; nil when that was an earlier try's, or no failure.
  private func resume(after cause: (any Error)?) async throws -> LoadedResponse {
    var cause = cause
    var refusal: PassingRefusal?
    var failures = 0
    var rounds = 0
    // A server that says less and then more again has not taken more.
    var furthest: Int64 = 0
    while failures < pauses.count {
      if let cause { guard place.resource != nil, isCut(cause) else { throw cause } }
      try context.control.check()
      let pause = rounds < rapidRounds ? pauses[failures] : 1
      if pause > 0 { try await context.control.sleep(pause) }
      rounds += 1
      do {
        if let loaded = try await askAndSend() { return loaded }
        refusal = nil
      } catch let impossible as Impossible {
        place.resource = nil
        throw cause ?? failure(impossible.sentence)
      } catch let busy as PassingRefusal {
        // A request that is still being worked on ends soon.
        if busyServer == .endsTheTry, busy.status != 423 { throw busy }
        refusal = busy
      } catch {
        refusal = nil
        // Without a stream for the rest, the upload ends as it was cut.
        if lacksStream, let cause { throw cause }
        cause = error
      }
      failures = place.acknowledged > furthest ? 0 : failures + 1
      furthest = max(furthest, place.acknowledged)
    }
    if let refusal {
      if busyServer == .endsTheTry { throw refusal }
      throw ErrorMapping.make(
        .badServerResponse, because: "The server answered \(refusal.status) each time when the upload was to go on.")
    }
    throw cause ?? failure("The server can't tell how much of it has arrived.")
  }

  private func failure(_ sentence: String) -> URLError {
    ErrorMapping.make(.badServerResponse, because: "The upload can't be resumed. \(sentence)")
  }

  private func isCut(_ error: any Error) -> Bool {
    guard let error = error as? URLError else { return false }
    return [.networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .notConnectedToInternet]
      .contains(error.code)
  }

  /// Asks how much has arrived and sends the rest, once. nil when both have to be done again.
  private func askAndSend() async throws -> LoadedResponse? {
    guard var asking = place.request("HEAD", from: request) else {
      throw Impossible(sentence: "The server has not said where it keeps the upload.")
    }
    do { try await source.check(on: context.loop) } catch {
      place.resource = nil
      throw error
    }
    for field in place.version.offsetFields.fields { asking.headerFields[field.name] = field.value }
    let loaded = try await load(LoadRequest(asking))
    let (status, answer) = try await finish(loaded)
    switch UploadContinuation.decide(status: status, answer: answer, length: source.length) {
    case .later: throw self.refusal(loaded) ?? PassingRefusal(status: status)
    case .impossible(let sentence): throw Impossible(sentence: sentence)
    case .complete:
      return LoadedResponse(
        response: loaded.response, head: loaded.head, body: LoadBody(BufferedBody(nil), in: context))
    case .append(let offset):
      place.acknowledged = offset
      return try await append(from: offset)
    }
  }

  /// Loads a request about an upload that a server has begun to take. It is not offered to protocols of the app's: the
  /// first request was, and none accepted it.
  private func load(_ request: LoadRequest) async throws -> LoadedResponse {
    context.protocolChoice = .builtIn
    return try await LoadPipeline.load(request, in: context)
  }

  private func append(from start: Int64) async throws -> LoadedResponse? {
    var offset = start
    while var appending = place.request("PATCH", from: request) {
      let rest = source.length.map { $0 - offset }
      var part: Int64?
      // A stream's parts would each need a stream of their own; a server that insists refuses, and the upload fails.
      if let most = place.limit.maximumAppendSize, let rest, rest > most, source.canBeReadAgain { part = most }
      for field in place.version.appendFields(offset: offset, isComplete: part == nil).fields {
        appending.headerFields[field.name] = field.value
      }
      if !source.canBeReadAgain, let rest { appending.headerFields["Content-Length"] = String(rest) }
      base = offset
      let loaded = try await load(
        LoadRequest(appending, body: source.bodyOfRest, bodyRange: BodyRange(start: offset, count: part)))
      let head = loaded.head ?? HTTPResponseHead(status: 200)
      let answer = UploadAnswer(head.fields)
      switch (head.status, part) {
      case (200..<300, let part?):
        _ = try await finish(loaded)
        // When the server does not say how much it has, it has what was sent.
        let sentFrom = offset
        offset = answer.offset ?? sentFrom + part
        guard offset > sentFrom, offset <= source.length ?? .max else {
          throw Impossible(sentence: "The server has not taken what was sent.")
        }
        place.acknowledged = offset
      case (409, _) where answer.offset != nil && answer.isComplete != true,
        (200..<300, nil) where answer.isComplete == false:
        _ = try await finish(loaded)
        return nil
      default:
        // An answer that says that the server has everything is that of the upload, as is any other failure.
        guard busyServer != .answers, answer.isComplete != true, let refusal = refusal(loaded) else { return loaded }
        loaded.body.discard()
        throw refusal
      }
    }
    return nil
  }

  private func refusal(_ loaded: LoadedResponse) -> PassingRefusal? {
    guard let head = loaded.head else { return nil }
    return PassingRefusal(status: head.status, fields: head.fields, now: Int64(Date().timeIntervalSince1970))
  }

  /// An answer whose body completes the server's proof of knowing the password counts only once that is judged.
  private func readRest(of loaded: LoadedResponse) async throws {
    guard loaded.bodyProof != nil else { return await loaded.body.drain() }
    while try await loaded.body.next() != nil {}
  }

  /// Reads what is left of an answer whose head is all that matters, so that the connection is free.
  private func finish(_ loaded: LoadedResponse) async throws -> (status: Int, answer: UploadAnswer) {
    let head = loaded.head ?? HTTPResponseHead(status: 200)
    let answer = UploadAnswer(head.fields)
    try await readRest(of: loaded)
    try context.control.check()
    var noted = answer
    // Only a creation says where an upload is.
    noted.location = nil
    place.note(noted, at: nil)
    return (head.status, answer)
  }
}
