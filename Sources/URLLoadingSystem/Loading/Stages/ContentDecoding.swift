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
    guard let head = loaded.head, head.status != 206, head.fields.contains("Content-Encoding") else { return loaded }
    let codings = ContentCodings(fields: head.fields).decodingOrder
    // Each layer costs memory of its own; nobody encodes more often than this in earnest.
    guard codings.count <= 5 else {
      loaded.body.discard()
      throw ErrorMapping.urlError(
        ErrorMapping.make(.cannotDecodeRawData, because: "The response is encoded more than five times over."),
        url: request.urlRequest.url)
    }
    for coding in codings {
      switch coding {
      case .identity: continue
      case .gzip: loaded.body = InflatingBody(loaded.body, format: .gzip, url: request.urlRequest.url)
      case .deflate: loaded.body = InflatingBody(loaded.body, format: .zlibOrRaw, url: request.urlRequest.url)
      case .brotli, .zstd, .unknown:
        // The app asked for this coding itself, or the server sends what nobody asked for: hand it over as it is.
        return loaded
      }
    }
    if !codings.isEmpty { loaded.body = DecodedCountingBody(loaded.body, record: context.transactions.last) }
    return loaded
  }

  private static let supported = "gzip, deflate"
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
