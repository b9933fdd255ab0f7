import FTPTransport
import Foundation
import HTTPSemantics
import HTTPTransport

/// One resource asked of an FTP server, up to where its data comes. Confined to the load's loop.
final class FTPAttempt: DirectAttempt {
  private let resource: FTPResource
  private let url: URL
  private let context: LoadContext
  private let record: TransactionRecord?
  private let session: FTPSession

  init(_ resource: FTPResource, run: PipelineRun, url: URL, key: ConnectionKey) {
    let context = run.context
    self.resource = resource
    self.url = url
    self.context = context
    record = context.makeRecord(of: run, .networkLoad)
    session = FTPSession(
      to: key, isPassive: context.configuration.usesPassiveFTP, transport: context.transport,
      executor: context.executor
    ) { context.control.touch() }
  }

  /// Nothing but reading is done.
  var isIdempotent: Bool { true }

  func run() async throws -> LoadedResponse {
    context.loop.assertInEventLoop()
    if let record { context.transactions.append(record) }
    try await context.control.passGate()
    let session = self.session
    do {
      let size = try await context.control.abortable(onAbort: { session.abort($0) }) {
        try await session.open(self.resource)
      }
      let response = URLResponse(
        url: url, mimeType: mediaType, expectedContentLength: size.map { Int(clamping: $0) } ?? -1,
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
  private var mediaType: String {
    switch resource.kind {
    case .listing, .names: return "text/plain"
    case .image, .text:
      let name = String(decoding: resource.name, as: UTF8.self)
      return PathExtensionMediaType.mediaType(forPathExtension: (name as NSString).pathExtension)
    }
  }
}
