import FTPTransport
import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

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

/// The data of an FTP transfer, pulled from its connection. Confined to the load's loop.
private final class FTPBodyReader: AwaitedBody.Reader {
  private let session: FTPSession
  private let record: TransactionRecord?
  private let context: LoadContext
  private let url: URL
  private var isOver = false

  init(session: FTPSession, record: TransactionRecord?, context: LoadContext, url: URL) {
    self.session = session
    self.record = record
    self.context = context
    self.url = url
  }

  deinit {
    guard !isOver else { return }
    let session = self.session
    context.loop.execute { session.abort(CancellationError()) }
  }

  func next() async throws -> ByteBuffer? {
    guard !isOver else { return nil }
    do {
      let bytes = try await session.read()
      if let bytes {
        record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
      } else {
        finish()
      }
      return bytes
    } catch {
      finish()
      throw ErrorMapping.urlError(error, url: url)
    }
  }

  func abort(_ error: any Error) { session.abort(error) }

  func close() {
    guard !isOver else { return }
    session.abort(CancellationError())
    finish()
  }

  private func finish() {
    isOver = true
    record?.note(session)
    session.close()
  }
}

extension TransactionRecord {
  /// What the metrics say of FTP: the control connection, and the bytes of both.
  fileprivate func note(_ session: FTPSession) {
    guard var connection = session.connection else { return }
    // The name of RFC 4217 for ALPN.
    connection.protocolName = "ftp"
    guard connection.connectEnd != nil else {
      unfinishedConnection = connection
      return
    }
    var exchange = ExchangeRecord(connection: connection, isReusedConnection: false)
    exchange.requestStart = session.requestStart
    exchange.requestEnd = session.responseStart
    exchange.responseStart = session.responseStart
    exchange.responseEnd = session.responseEnd
    exchange.requestHeaderBytes = session.bytesOfCommands
    exchange.responseHeaderBytes = session.bytesOfReplies
    exchange.responseBodyBytes = session.bytesOfData
    self.exchange = exchange
  }
}
