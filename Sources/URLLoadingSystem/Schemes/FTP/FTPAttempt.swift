import FTPTransport
import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// One transfer with an FTP server, up to where its data comes, or was sent. A login that the server refuses is followed
/// by another one, over a new control connection. Confined to the load's loop.
final class FTPAttempt: DirectAttempt {
  private let transfer: FTPTransfer
  private let server: FTPServer
  private let url: URL
  private let context: LoadContext
  private let authentication: FTPAuthentication
  private let pipeline: PipelineRun
  /// Of the last login.
  private var record: TransactionRecord?

  init(
    _ transfer: FTPTransfer, at server: FTPServer, authentication: FTPAuthentication, run: PipelineRun, url: URL
  ) {
    self.transfer = transfer
    self.server = server
    self.authentication = authentication
    pipeline = run
    self.url = url
    context = run.context
  }

  /// To store a file twice is to store it once.
  var isIdempotent: Bool { transfer.kind != .append }

  func run() async throws -> LoadedResponse {
    context.loop.assertInEventLoop()
    while true {
      do {
        let response = try await load(as: try await authentication.next().login)
        authentication.accepted()
        return response
      } catch let failure as FTPFailure where failure.isRefusedLogin {
        try await authentication.refused(failure)
      }
    }
  }

  private func load(as login: FTPLogin) async throws -> LoadedResponse {
    let record = context.makeRecord(of: pipeline, .networkLoad)
    self.record = record
    if let record { context.transactions.append(record) }
    let control = context.control
    try await control.passGate()
    let session = FTPSession(
      to: server, transport: context.transport, executor: context.executor,
      pool: FTPConnections.of(context.transport).pool(on: context.executor)
    ) { control.touch() }
    do {
      let answer = try await control.abortable(onAbort: { session.abort($0) }) {
        try await session.open(self.transfer, as: login)
      }
      let loaded: LoadedResponse
      switch transfer.kind {
      case .facts: loaded = try await receive(answer, from: session, record)
      case .retrieve where !answer.endsBeforeOffset: loaded = try await receive(answer, from: session, record)
      case .retrieve where transfer.condition == nil:
        throw ErrorMapping.make(
          .resourceUnavailable, because: "The file ends before the range that was asked for begins.")
      case .retrieve, .describe:
        loaded = try await empty(answer)
        session.close()
      case .store, .append:
        try await control.abortable(onAbort: { session.abort($0) }) { try await self.send(over: session) }
        loaded = try await empty(FTPAnswer(size: 0))
        session.close()
      }
      record?.response = loaded.response
      record?.note(session)
      return loaded
    } catch {
      record?.note(session)
      session.close()
      throw error
    }
  }

  // MARK: Receiving

  private func receive(
    _ answer: FTPAnswer, from session: FTPSession, _ record: TransactionRecord?
  ) async throws -> LoadedResponse {
    let response = try await response(answer.size.map { $0 - answer.offset })
    let reader = FTPBodyReader(session: session, record: record, context: context, url: url)
    let body = LoadBody(AwaitedBody(reader, on: context.executor), in: context)
    if let form = answer.listing {
      body.add(FTPListingFilter(form, at: Int64(Date().timeIntervalSince1970), on: context.loop))
    }
    return LoadedResponse(response: response, downloadHead: answer.downloadHead, body: body, record: record)
  }

  private func empty(_ answer: FTPAnswer) async throws -> LoadedResponse {
    return LoadedResponse(
      response: try await response(answer.size), downloadHead: answer.downloadHead,
      body: LoadBody(BufferedBody(ByteBuffer()), in: context), record: record)
  }

  private func response(_ length: Int64?) async throws -> URLResponse {
    URLResponse(
      url: url, mimeType: try await mediaType(), expectedContentLength: length.map { Int(clamping: $0) } ?? -1,
      textEncodingName: nil)
  }

  func forget() {
    guard let record else { return }
    context.transactions.removeAll { $0 === record }
  }

  /// As for files of this machine: by the name. A folder comes as text.
  private func mediaType() async throws -> String {
    switch transfer.resource.kind {
    case .listing, .names: return "text/plain"
    case .image, .text:
      let name = String(decoding: transfer.resource.name, as: UTF8.self)
      return try await context.loop.blocking { FileMediaTypes.mediaType(ofFileNamed: name) }
        ?? "application/octet-stream"
    }
  }

  // MARK: Sending

  /// After so many bytes the loop looks whether something has come, though the connection would take more.
  private static let bytesPerTurn = 1024 * 1024

  private func send(over session: FTPSession) async throws {
    guard let body = pipeline.network?.body else {
      throw ErrorMapping.make(.requestBodyStreamExhausted, because: "The request has no body to send.")
    }
    defer { body.close() }
    record?.requestBodyBytesBeforeEncoding = max(0, body.length ?? 0)
    var bytesOfTurn = 0
    do {
      // All that was announced is sent: a stream that does not end by itself is not waited for.
      while body.length.map({ session.sent < $0 }) ?? true {
        try await context.control.passGate()
        guard let bytes = try await body.next() else { break }
        try await session.write(bytes)
        if body.length == nil { record?.requestBodyBytesBeforeEncoding = session.sent }
        context.client.load(
          context, didSendBodyBytes: Int64(bytes.readableBytes), total: session.sent, expected: body.length ?? -1)
        bytesOfTurn += bytes.readableBytes
        guard bytesOfTurn >= FTPAttempt.bytesPerTurn else { continue }
        bytesOfTurn = 0
        await context.executor.turn()
      }
      if let length = body.length, session.sent != length {
        throw ErrorMapping.make(
          .requestBodyStreamExhausted, because: "The body has \(session.sent) bytes and was announced with \(length).")
      }
    } catch {
      // The end of the connection would be the end of the file: the server is not told that it is complete.
      session.abort(error)
      throw error
    }
    try await session.finishWriting()
  }
}

extension FTPAnswer {
  /// The head of the same answer by HTTP: the date is the validator of a later part (RFC 9110 §8.8.2).
  fileprivate var downloadHead: HTTPResponseHead {
    var head = HTTPResponseHead(status: 200)
    if let date { head.fields.append("Last-Modified", HTTPDate.format(date)) }
    guard let size else { return head }
    if endsBeforeOffset {
      head.status = 416
      head.fields.append("Content-Range", "bytes */\(size)")
    } else if offset > 0 {
      head.status = 206
      head.fields.append("Content-Range", "bytes \(offset)-\(size - 1)/\(size)")
    } else {
      head.fields.append("Content-Length", String(size))
    }
    return head
  }
}
