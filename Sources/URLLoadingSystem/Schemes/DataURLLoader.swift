import Foundation
import HTTPSemantics
import NIOCore

/// Loads `data:` URLs (RFC 2397).
struct DataURLLoader: SchemeLoader {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    guard let url = request.urlRequest.url else {
      throw ErrorMapping.make(.badURL, because: "The request has no URL.")
    }
    let record = TransactionRecord(request: request.urlRequest, fetchType: .localCache, anchor: context.anchor)
    let content: DataURL
    do { content = try DataURL(parsing: url.absoluteString) } catch {
      throw ErrorMapping.urlError(ErrorMapping.make(.badURL, because: error.sentence), url: url)
    }
    let response = URLResponse(
      url: url, mimeType: content.mediaType.essence, expectedContentLength: content.bytes.count,
      textEncodingName: content.mediaType.charset)
    record.response = response
    record.responseBodyBytesAfterDecoding = Int64(content.bytes.count)
    record.fetchEnd = .now()
    context.transactions.append(record)
    return LoadedResponse(response: response, body: BufferedLoadBody(ByteBuffer(bytes: content.bytes)))
  }
}
