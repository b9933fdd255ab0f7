import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Downloads and uploads that are asked who is there on their way.
@Suite(.overEveryVersion) struct TransferAuthenticationTests {
  private static let challenge = #"Basic realm="here""#

  // MARK: Downloads

  /// The first part came without a question. The server asks before it sends the rest, of which none is lost.
  @Test func aDownloadIsAskedWhenItIsResumed() async throws {
    let size: Int64 = 3_000_000
    let file = FileResource(size: size)
    file.update { $0.cuts = [.after(1_000_000, .stall)] }
    try await withServer({ request in
      guard request.value("Range") == nil || request.value("Authorization") == basic("ann", "1") else {
        return .unauthorized(Self.challenge)
      }
      return file.reply(to: request)
    }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      let answers = CredentialDelegate.user("ann", "1")
      let task = session.downloadTask(withResumeData: data)
      task.delegate = answers
      task.resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil] && delegate.resumptions.all == [[1_000_000, size]])
      #expect(answers.asked.all.count == 1)
      #expect(file.served.map(\.rangeField) == [nil, "bytes=1000000-"])
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, false, true])
      #expect(server.requests.map { $0.value("Range") } == [nil, "bytes=1000000-", "bytes=1000000-"])
      session.finishTasksAndInvalidate()
    }
  }

  /// Without a credential the error page is the result, and the part is not mixed with it.
  @Test func aDownloadThatIsRefusedWhenItIsResumedGetsTheResponse() async throws {
    let file = FileResource(size: 3_000_000)
    file.update { $0.cuts = [.after(1_000_000, .stall)] }
    try await withServer({ request in
      request.value("Range") == nil ? file.reply(to: request) : .unauthorized(Self.challenge, body: "who?")
    }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      let task = session.downloadTask(withResumeData: data)
      task.resume()
      #expect(try await delegate.ends.next() == nil)
      #expect((task.response as? HTTPURLResponse)?.statusCode == 401)
      session.finishTasksAndInvalidate()
    }
  }

  // MARK: Uploads

  private func makeFile(_ text: String) throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Data(text.utf8).write(to: url)
    return url
  }

  private static let body = String(repeating: "body ", count: 60_000)

  @Test func aFileIsReadAgain() async throws {
    let file = try makeFile(Self.body)
    defer { try? FileManager.default.removeItem(at: file) }
    try await withServer({ request in
      request.value("Authorization") == basic("ann", "1") ? .ok("in") : .unauthorized(Self.challenge)
    }) { server in
      let session = URLSession.answering(.user("ann", "1", .none))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      try await expectText("in", session.upload(for: request, fromFile: file))
      #expect(server.requests.map(\.body.text) == [Self.body, Self.body])
    }
  }

  @Test(arguments: [true, false]) func theAppIsAskedForTheStreamAgain(hasAnother: Bool) async throws {
    let streams = Recorder<Bool>()
    let delegate = CredentialDelegate(stream: {
      defer { streams.record(true) }
      return hasAnother || streams.count == 0 ? InputStream(data: Data(Self.body.utf8)) : nil
    }) { _ in (.useCredential, URLCredential(user: "ann", password: "1", persistence: .forSession)) }
    try await withServer({ request in
      request.value("Authorization") == basic("ann", "1") ? .ok("in") : .unauthorized(Self.challenge)
    }) { server in
      let (done, errors) = (Gate(), Recorder<URLError>())
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      let task = session.uploadTask(withStreamedRequest: request)
      task.delegate = EndDelegate(done, errors)
      task.resume()
      try await done.wait(within: patience)
      #expect(streams.count == 2 && delegate.asked.all.count == 1)
      if hasAnother {
        #expect(errors.all.isEmpty && (task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.requests.map(\.body.text) == [Self.body, Self.body])
      } else {
        #expect(errors.all.map(\.code) == [.requestBodyStreamExhausted])
      }
    }
  }

  /// RFC 9110 §10.1.1: the server's question comes in the place of 100, and the body is sent once, with the credential.
  @Test func anUploadThatWaitsForTheServerIsStoppedInTime() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { head in
      head.value("Authorization") == basic("ann", "1")
        ? .readBody : .reply(.status(401, fields: [("WWW-Authenticate", Self.challenge)]))
    }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls(), options: options) {
      .ok("\($0.body.count)")
    }
    let session = URLSession.answering(.user("ann", "1"))
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    request.setValue("100-continue", forHTTPHeaderField: "Expect")
    let body = Data(Self.body.utf8)
    try await expectText("\(body.count)", session.upload(for: request, from: body))
    #expect(server.heads.map { $0.value("Authorization") != nil } == [false, true])
    #expect(server.requests.map { Int($0.body.count) }.filter { $0 > 0 } == [body.count])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: Resumable uploads

  private func upload(_ script: UploadScript, _ check: ([RecordedRequest], CredentialDelegate) -> Void) async throws {
    try await script.run { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      var request = UploadScript.request(server)
      request.setValue(nil, forHTTPHeaderField: "Authorization")
      let (_, response) = try await session.upload(for: request, from: UploadScript.body)
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      check(server.requests, delegate)
      session.finishTasksAndInvalidate()
    }
  }

  private static var asking: Reply { UploadScript.take(401, fields: [("WWW-Authenticate", challenge)]) }

  private func isKnown(_ request: RecordedRequest) -> Bool { request.value("Authorization") == basic("ann", "1") }

  @Test func anUploadIsAskedAtItsBeginning() async throws {
    try await upload(UploadScript(post: [Self.asking, UploadScript.take()])) { requests, delegate in
      #expect(requests.map(\.method) == ["POST", "POST"] && requests.map(isKnown) == [false, true])
      #expect(requests.allSatisfy { $0.value("Upload-Complete") == "?1" && $0.body.count == UploadScript.size })
      #expect(delegate.asked.all.count == 1)
    }
  }

  @Test func anUploadIsAskedWhenItAsksHowMuchHasArrived() async throws {
    let head = Reply.status(401, fields: [("WWW-Authenticate", Self.challenge)])
    let script = UploadScript(
      post: [.cutOffered(1000)], head: [head, UploadScript.has(1000)], patch: [UploadScript.take()])
    try await upload(script) { requests, delegate in
      #expect(requests.map(\.method) == ["POST", "HEAD", "HEAD", "PATCH"])
      // The rest goes to the folder that was opened.
      #expect(requests.map(isKnown) == [false, false, true, true] && delegate.asked.all.count == 1)
      #expect(requests.last.map { BytePattern().matches($0.body.bytes, at: 1000) } == true)
    }
  }

  @Test func anUploadIsAskedWhenItSendsTheRest() async throws {
    let script = UploadScript(
      post: [.cutOffered(1000)], head: [UploadScript.has(1000)], patch: [Self.asking, UploadScript.take()])
    try await upload(script) { requests, delegate in
      #expect(requests.map(\.method) == ["POST", "HEAD", "PATCH", "PATCH"])
      #expect(requests.map(isKnown) == [false, false, false, true] && delegate.asked.all.count == 1)
      for patch in requests.suffix(2) {
        #expect(patch.value("Upload-Offset") == "1000" && patch.body.count == UploadScript.size - 1000)
        #expect(BytePattern().matches(patch.body.bytes, at: 1000))
      }
    }
  }

  // MARK: Redirects

  /// A redirect inside the space carries the credential at once; one to another server never.
  @Test func aRedirectInsideTheSpaceKeepsTheCredential() async throws {
    let other = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .unauthorized(#"Basic realm="here""#)
    }
    try await withServer({ request in
      guard request.value("Authorization") == basic("ann", "1") else { return .unauthorized(Self.challenge) }
      switch request.path {
      case "/a/1": return .redirect(to: "/a/2")
      case "/a/2": return .redirect(to: other.url("/a/2").absoluteString)
      default: return .ok("in")
      }
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.port == other.port
          ? (.performDefaultHandling, nil)
          : (.useCredential, URLCredential(user: "ann", password: "1", persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url("/a/1")))
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      #expect(other.requests.map { $0.value("Authorization") } == [nil])
      // The other server's question was put to the app as one of its own, without a proposal.
      #expect(delegate.asked.all.map(\.protectionSpace.port) == [server.port, other.port])
      #expect(delegate.asked.all.last?.proposedCredential == nil)
    }
    await other.shutdown()
  }
}

/// Says how a task ended, and leaves its questions to the session's delegate.
private final class EndDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  private let done: Gate
  private let errors: Recorder<URLError>

  init(_ done: Gate, _ errors: Recorder<URLError>) { (self.done, self.errors) = (done, errors) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error = error as? URLError { errors.record(error) }
    done.open()
  }
}
