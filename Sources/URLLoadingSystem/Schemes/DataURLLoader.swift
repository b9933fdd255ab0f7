import Foundation
import HTTPSemantics
import NIOCore

/// Loads `data:` URLs (RFC 2397), as browsers read them.
enum DataURLLoader {
  static func begin(_ run: PipelineRun, _ url: URL) -> LoadStep {
    let record = run.context.makeRecord(of: run, .localCache)
    let content: DataURL
    do { content = try DataURL(parsing: url.absoluteString, escapesSpaces: true) } catch {
      return .fail(ErrorMapping.urlError(ErrorMapping.make(.badURL, because: error.sentence), url: url))
    }
    let response = URLResponse(
      url: url, mimeType: content.mediaType.essence, expectedContentLength: content.bytes.count,
      textEncodingName: content.mediaType.charset)
    if let record {
      record.response = response
      record.responseBodyBytesAfterDecoding = Int64(content.bytes.count)
      record.fetchEnd = .now()
      run.context.transactions.append(record)
    }
    let body = LoadBody(BufferedBody(ByteBuffer(bytes: content.bytes)), in: run.context)
    return .answer(LoadedResponse(response: response, body: body, record: record))
  }
}
