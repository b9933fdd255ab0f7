import Foundation
import HTTPTransport
import NIOCore

/// The body of an HTTP response: each pull asks the exchange for the next bytes. Confined to the load's loop.
final class HTTPLoadBody: LoadBody, @unchecked Sendable {
  private let exchange: any HTTPExchange
  private let upload: HTTPUpload?
  private let record: TransactionRecord
  private let context: LoadContext
  private let url: URL
  private var isOver = false

  init(exchange: any HTTPExchange, upload: HTTPUpload?, record: TransactionRecord, context: LoadContext, url: URL) {
    self.exchange = exchange
    self.upload = upload
    self.record = record
    self.context = context
    self.url = url
  }

  deinit {
    guard !isOver else { return }
    let exchange = self.exchange
    context.loop.execute {
      exchange.abort(CancellationError())
      exchange.end()
    }
  }

  func next() async throws -> ByteBuffer? {
    guard !isOver else { return nil }
    do {
      try await context.control.passGate()
      let exchange = self.exchange
      let chunk = try await context.control.abortable(onAbort: { exchange.abort($0) }) {
        try await exchange.nextChunk()
      }
      context.control.touch()
      guard let chunk else {
        // The response is complete; an upload that still runs has nobody to read it.
        try await upload?.settle()
        finish()
        return nil
      }
      record.responseBodyBytesAfterDecoding += Int64(chunk.readableBytes)
      return chunk
    } catch {
      let cause = upload?.failure ?? error
      exchange.abort(error)
      upload?.stop()
      finish()
      throw ErrorMapping.urlError(cause, url: url)
    }
  }

  func takeOver() async throws -> any DuplexStream {
    guard !isOver else { throw TransportError.connectionLost(reason: "the response is over") }
    // A body that is still being sent would be mixed with what is written now.
    try await upload?.settle()
    let stream = try await exchange.takeOver()
    isOver = true
    record.exchange = exchange.record
    return stream
  }

  func discard() {
    guard !isOver else { return }
    exchange.abort(CancellationError())
    finish()
  }

  private func finish() {
    guard !isOver else { return }
    isOver = true
    record.exchange = exchange.record
    exchange.end()
  }
}
