import Foundation
import HTTPSemantics
import NIOPosix

/// Uploads that go on after a cut (draft-ietf-httpbis-resumable-upload).
///
/// 1. The request says that it is a whole upload. A server that can resume answers at once with 104 and the place where
///    it keeps the upload; any other ignores it.
/// 2. After a cut, or an answer that says that the server has not got everything, the task asks there with HEAD how much
///    has arrived, and sends the rest with PATCH, in parts when the server wants that. It gives up when three tries in a
///    row bring nothing.
/// 3. A task that fails or is cancelled hands over what another one needs to do 2.
extension TaskLoad {
  func upload(_ request: URLRequest, resuming data: UploadResumeData?, in context: LoadContext) async throws -> Received
  {
    if let data {
      try await prepare(data, in: context)
      return try await receive(try await goOn(request, after: nil, in: context), in: context)
    }
    guard let version = Self.version(for: request) else {
      return try await receive(
        try await LoadPipeline.load(LoadRequest(request, body: task.requestBody), in: context), in: context)
    }
    let expected = task.bytesExpectedToSend.load(ordering: .relaxed)
    var upload = UploadConversation(version: version, length: expected >= 0 ? expected : nil)
    if case .file(let url) = task.requestBody { upload.identity = try await onPool(context) { FileIdentity(url) } }
    self.upload = upload
    var creation = request
    for field in version.creationFields.fields { creation.headerFields[field.name] = field.value }
    var loaded: LoadedResponse
    do {
      loaded = try await LoadPipeline.load(LoadRequest(creation, body: task.requestBody), in: context)
    } catch {
      return try await receive(try await goOn(request, after: error, in: context), in: context)
    }
    if isIncomplete(loaded) {
      // The server has made the upload and not taken all of it. Its answer may be cut short: there will be another.
      _ = try? await drain(loaded)
      loaded = try await goOn(request, after: nil, in: context)
    }
    return try await receive(loaded, in: context)
  }

  /// Whether the answer to the request that began the upload says that there is more to send. If so, where.
  private func isIncomplete(_ loaded: LoadedResponse) -> Bool {
    guard let head = loaded.head, (200..<300).contains(head.status) else { return false }
    let answer = UploadAnswer(head.fields)
    guard answer.isComplete == false else { return false }
    upload?.note(answer, at: loaded.response.url)
    return true
  }

  /// The version to begin with; nil when the app deals with the protocol itself, or not at all.
  private static func version(for request: URLRequest) -> UploadVersion? {
    guard request.url?.isHTTP == true,
      !["Upload-Complete", "Upload-Incomplete", "Upload-Offset"].contains(where: { request.headerFields.contains($0) })
    else { return nil }
    guard let wanted = request.headerFields["Upload-Draft-Interop-Version"] else { return .preferred }
    return UploadVersion(wanted)
  }

  private func prepare(_ data: UploadResumeData, in context: LoadContext) async throws {
    var upload = UploadConversation(version: UploadVersion(data.protocolVersion) ?? .preferred, length: nil)
    upload.resource = URL(string: data.resource)
    switch data.source {
    case .file(_, let identity):
      upload.length = identity.size
      upload.identity = identity
    case .data(let name, let size):
      try await onPool(context) { try TemporaryFile.check(name, size: size) }
      upload.length = size
      upload.ownFile = (name, size)
    case .stream(let length): upload.length = length
    }
    self.upload = upload
  }

  func noteInformational(_ response: HTTPURLResponse) {
    guard response.statusCode == 104 else { return }
    upload?.note(UploadAnswer(response.head.fields), at: response.url)
  }

  // MARK: Going on

  private struct Impossible: Error { let sentence: String }

  /// In seconds, before each try that follows one that brought nothing.
  private static let pauses: [TimeInterval] = [0, 0.2, 1]
  /// After so many rounds there is a second between them, whatever they bring: a server that cuts every request short
  /// is not hammered.
  private static let rapidRounds = 16

  /// - Parameter cause: What interrupted the upload; nil when an earlier task was interrupted.
  private func goOn(_ request: URLRequest, after cause: (any Error)?, in context: LoadContext) async throws
    -> LoadedResponse
  {
    var cause = cause
    var failures = 0
    var rounds = 0
    // A server that says less and then more again has not taken more.
    var furthest: Int64 = 0
    while failures < Self.pauses.count {
      if let cause { guard upload?.resource != nil, Self.isCut(cause) else { throw cause } }
      try context.control.check()
      let pause = rounds < Self.rapidRounds ? Self.pauses[failures] : 1
      if pause > 0 { try await wait(pause, in: context) }
      rounds += 1
      do {
        if let loaded = try await step(request, in: context) { return loaded }
      } catch let impossible as Impossible {
        upload?.resource = nil
        throw cause ?? ErrorMapping.make(.badServerResponse, because: "The upload can't go on. \(impossible.sentence)")
      } catch {
        // Without a stream for the rest, the task ends as it was cut.
        if upload?.lacksStream == true, let cause { throw cause }
        cause = error
      }
      let acknowledged = upload?.acknowledged ?? 0
      failures = acknowledged > furthest ? 0 : failures + 1
      furthest = max(furthest, acknowledged)
    }
    throw cause
      ?? ErrorMapping.make(.badServerResponse, because: "The upload can't go on. The server can't tell where it is.")
  }

  private static func isCut(_ error: any Error) -> Bool {
    guard let error = error as? URLError else { return false }
    return [.networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .notConnectedToInternet]
      .contains(error.code)
  }

  /// Asks and sends once. nil when that has to be done again.
  private func step(_ original: URLRequest, in context: LoadContext) async throws -> LoadedResponse? {
    guard let upload, var request = upload.request("HEAD", from: original) else {
      throw Impossible(sentence: "The server has not said where it keeps the upload.")
    }
    try await checkFile(upload, in: context)
    for field in upload.version.offsetFields.fields { request.headerFields[field.name] = field.value }
    let loaded = try await LoadPipeline.load(LoadRequest(request), in: context)
    let answer = try await drain(loaded)
    switch UploadContinuation.decide(status: answer.status, answer: answer.upload, length: upload.length) {
    case .later: return nil
    case .impossible(let sentence): throw Impossible(sentence: sentence)
    case .complete:
      return LoadedResponse(
        response: loaded.response, head: loaded.head, body: LoadBody(BufferedBody(nil), in: context))
    case .append(let offset):
      self.upload?.acknowledged = offset
      return try await append(original, from: offset, in: context)
    }
  }

  private func append(_ original: URLRequest, from start: Int64, in context: LoadContext) async throws
    -> LoadedResponse?
  {
    var offset = start
    while let upload, var request = upload.request("PATCH", from: original) {
      let rest = upload.length.map { $0 - offset }
      var part: Int64?
      // A stream's parts would each need a stream of their own; a server that insists refuses, and the task fails.
      if let most = upload.limit.maximumAppendSize, let rest, rest > most, !task.requestBody.isStream { part = most }
      for field in upload.version.appendFields(offset: offset, isComplete: part == nil).fields {
        request.headerFields[field.name] = field.value
      }
      if task.requestBody.isStream, let rest { request.headerFields["Content-Length"] = String(rest) }
      self.upload?.base = offset
      let loaded = try await LoadPipeline.load(
        LoadRequest(request, body: task.requestBody, bodyRange: BodyRange(start: offset, count: part)), in: context)
      let head = loaded.head ?? HTTPResponseHead(status: 200)
      let answer = UploadAnswer(head.fields)
      switch (head.status, part) {
      case (200..<300, let part?):
        _ = try await drain(loaded)
        // Without a word of the server's, what was sent is what it has.
        let sentFrom = offset
        offset = answer.offset ?? sentFrom + part
        guard offset > sentFrom, offset <= upload.length ?? .max else {
          throw Impossible(sentence: "The server has not taken what was sent.")
        }
        self.upload?.acknowledged = offset
      case (409, _) where answer.offset != nil && answer.isComplete != true,
        (200..<300, nil) where answer.isComplete == false:
        _ = try await drain(loaded)
        return nil
      default: return loaded
      }
    }
    return nil
  }

  /// Reads what is left, so that the connection is free, and says what the head says.
  private func drain(_ loaded: LoadedResponse) async throws -> (status: Int, upload: UploadAnswer) {
    let head = loaded.head ?? HTTPResponseHead(status: 200)
    let answer = UploadAnswer(head.fields)
    var budget = 64 * 1024
    while budget > 0, let bytes = try await loaded.body.next() { budget -= bytes.readableBytes }
    loaded.body.discard()
    var noted = answer
    // Only a creation says where an upload is.
    noted.location = nil
    upload?.note(noted, at: nil)
    return (head.status, answer)
  }

  private func checkFile(_ upload: UploadConversation, in context: LoadContext) async throws {
    guard let identity = upload.identity, case .file(let url) = task.requestBody else { return }
    guard try await onPool(context, { FileIdentity(url) }) == identity else {
      self.upload?.resource = nil
      throw ErrorMapping.make(
        .cannotOpenFile, because: "The upload can't go on: \(url.path) is gone or has changed since it began.")
    }
  }

  // MARK: For a later task

  /// nil when no later task can go on.
  func uploadResumeData(in context: LoadContext) async -> Data? {
    guard let upload, let resource = upload.resource, let request = task.originalRequest else { return nil }
    let source: UploadResumeData.Source
    switch task.requestBody {
    case .file(let url):
      if let own = upload.ownFile {
        source = .data(fileName: own.name, size: own.size)
      } else {
        guard let identity = upload.identity else { return nil }
        source = .file(path: url.path, identity)
      }
    case .data(let data):
      guard let name = try? await onPool(context, { try TemporaryFile.keep(data) }) else { return nil }
      source = .data(fileName: name, size: Int64(data.count))
    case .streamFromClient: source = .stream(length: upload.length)
    case .none, .stream: return nil
    }
    return UploadResumeData(request: request, resource: resource, version: upload.version, source: source).encoded()
  }

  /// The body of a resumed task is not needed any more.
  func dropUpload(in context: LoadContext) async {
    guard let name = upload?.ownFile?.name else { return }
    upload = nil
    try? await onPool(context) {
      TemporaryFile.remove(TemporaryFile.directory.appendingPathComponent(name, isDirectory: false))
    }
  }

  private func onPool<Value: Sendable>(
    _ context: LoadContext, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(eventLoop: context.loop, work).get()
  }
}

extension RequestBody {
  fileprivate var isStream: Bool {
    switch self {
    case .stream, .streamFromClient: true
    case .none, .data, .file: false
    }
  }
}
