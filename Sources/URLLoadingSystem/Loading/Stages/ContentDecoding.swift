import Foundation
import HTTPSemantics

/// Asks for compressed bodies and gives them out decompressed (RFC 9110 §8.4).
///
/// `Accept-Encoding` is added unless the app set its own, and a request for a range asks for no coding at all, since
/// a range of a compressed body can't be decoded. The response keeps its Content-Encoding field, as on Apple's
/// systems, and its expected length is unknown.
struct ContentDecoding: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    if !run.fields.contains("Accept-Encoding") {
      run.fields.append("Accept-Encoding", ContentDecoding.accepted(run.fields))
    }
    return .proceed
  }

  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    // Bytes behind the answer to a handshake are not its content.
    guard run.context.upgrade == nil, !response.isDecoded, let head = response.head, head.status != 206,
      head.fields.contains("Content-Encoding")
    else { return .proceed }
    let codings = ContentCodings(fields: head.fields)
    // The app asked for a coding of its own, or the server sends one that was not asked for: the body is handed over as
    // it is, since a body decoded in part could not be told from one that was not.
    guard codings.areAllKnown else { return .proceed }
    let order = codings.decodingOrder
    let url = run.request.urlRequest.url
    // Each layer costs memory of its own, and more of them have no honest use.
    guard order.count <= 5 else {
      response.body.discard()
      return .fail(
        ErrorMapping.urlError(
          ErrorMapping.make(.cannotDecodeRawData, because: "The response is encoded more than five times over."),
          url: url))
    }
    for coding in order { response.body.add(DecodingFilter(coding, url: url)) }
    if !order.isEmpty, let record = response.record { response.body.add(DecodedCount(record)) }
    return .proceed
  }

  /// The value of Accept-Encoding for a request with these fields.
  static func accepted(_ fields: HTTPFields) -> String { fields.contains("Range") ? "identity" : supported }

  private static let supported = "gzip, deflate, br, zstd"
}

/// Keeps the transaction's count of decoded bytes true where the loader counted coded ones.
private final class DecodedCount: BodyFilter {
  private let record: TransactionRecord
  private var count: Int64 = 0

  init(_ record: TransactionRecord) { self.record = record }

  func take(from input: () throws -> BodyPart) throws -> BodyPart {
    let part = try input()
    if case .bytes(let bytes) = part { count += Int64(bytes.readableBytes) }
    record.responseBodyBytesAfterDecoding = count
    return part
  }
}
