import Foundation
import HTTPSemantics
import NIOCore

/// Asks for compressed bodies and gives them out decompressed (RFC 9110 §8.4).
///
/// `Accept-Encoding` is added unless the app set its own, and a request for a range asks for no coding at all, since
/// a range of a compressed body can't be decoded. The response keeps its Content-Encoding field, as on Apple's
/// systems, and its expected length is unknown.
struct ContentDecoding: LoadStage {
  func load(_ request: LoadRequest, in context: LoadContext, next: LoadPipeline.Next) async throws -> LoadedResponse {
    var request = request
    if !request.urlRequest.headerFields.contains("Accept-Encoding") {
      let wantsRange = request.urlRequest.headerFields.contains("Range")
      request.urlRequest.headerFields.append("Accept-Encoding", wantsRange ? "identity" : ContentDecoding.supported)
    }
    var loaded = try await next(request, context)
    // What follows the answer to a handshake is not its content.
    guard context.upgrade == nil else { return loaded }
    guard let head = loaded.head, head.status != 206, head.fields.contains("Content-Encoding") else { return loaded }
    let codings = ContentCodings(fields: head.fields)
    // The app asked for a coding of its own, or the server sends what nobody asked for: all of it is handed over as it
    // is, since a body decoded in part could not be told from one that was not.
    guard codings.areAllKnown else { return loaded }
    let order = codings.decodingOrder
    // Each layer costs memory of its own; nobody encodes more often than this in earnest.
    guard order.count <= 5 else {
      loaded.body.discard()
      throw ErrorMapping.urlError(
        ErrorMapping.make(.cannotDecodeRawData, because: "The response is encoded more than five times over."),
        url: request.urlRequest.url)
    }
    for coding in order {
      loaded.body = DecodingBody(loaded.body, coding: coding, control: context.control, url: request.urlRequest.url)
    }
    if !order.isEmpty { loaded.body = DecodedCountingBody(loaded.body, record: context.transactions.last) }
    return loaded
  }

  private static let supported = "gzip, deflate, br, zstd"
}

/// Keeps the transaction's count of decoded bytes true where the loader counted coded ones.
private final class DecodedCountingBody: LoadBody, @unchecked Sendable {
  private let body: any LoadBody
  private let record: TransactionRecord?
  private var count: Int64 = 0

  init(_ body: any LoadBody, record: TransactionRecord?) {
    self.body = body
    self.record = record
  }

  func next() async throws -> ByteBuffer? {
    defer { record?.responseBodyBytesAfterDecoding = count }
    let bytes = try await body.next()
    count += Int64(bytes?.readableBytes ?? 0)
    return bytes
  }

  func discard() { body.discard() }
}
