import FTPTransport
import Foundation
import HTTPSemantics
import HTTPTransport

/// One resource asked of an FTP server, up to where its data comes. A login that the server refuses is followed by
/// another one, over a new control connection. Confined to the load's loop.
final class FTPAttempt: DirectAttempt {
  private let resource: FTPResource
  private let url: URL
  private let context: LoadContext
  private let authentication: FTPAuthentication
  private let pipeline: PipelineRun
  private let key: ConnectionKey
  /// Of the last login.
  private var record: TransactionRecord?

  init(
    _ resource: FTPResource, authentication: FTPAuthentication, run: PipelineRun, url: URL, key: ConnectionKey
  ) {
    self.resource = resource
    self.authentication = authentication
    pipeline = run
    self.url = url
    self.key = key
    context = run.context
  }

  /// Nothing but reading is done.
  var isIdempotent: Bool { true }

  func run() async throws -> LoadedResponse {
    context.loop.assertInEventLoop()
    while true {
      do {
        let response = try await load(as: await authentication.next().login)
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
      to: key, isPassive: context.configuration.usesPassiveFTP, transport: context.transport,
      executor: context.executor
    ) { control.touch() }
    do {
      let size = try await control.abortable(onAbort: { session.abort($0) }) {
        try await session.open(self.resource, as: login)
      }
      let response = URLResponse(
        url: url, mimeType: try await mediaType(), expectedContentLength: size.map { Int(clamping: $0) } ?? -1,
        textEncodingName: nil)
      record?.response = response
      record?.note(session)
      let reader = FTPBodyReader(session: session, record: record, context: context, url: url)
      return LoadedResponse(
        response: response, body: LoadBody(AwaitedBody(reader, on: context.executor), in: context), record: record)
    } catch {
      record?.note(session)
      session.close()
      throw error
    }
  }

  func forget() {
    guard let record else { return }
    context.transactions.removeAll { $0 === record }
  }

  /// As for files of this machine: by the name. A folder comes as text.
  private func mediaType() async throws -> String {
    switch resource.kind {
    case .listing, .names: return "text/plain"
    case .image, .text:
      let name = String(decoding: resource.name, as: UTF8.self)
      return try await context.loop.blocking { FileMediaTypes.mediaType(ofFileNamed: name) }
        ?? "application/octet-stream"
    }
  }
}
