import Foundation
import HTTPSemantics
import NIOCore

/// Loads `file:` URLs: the file's bytes, its size as the length, and a MIME type guessed from its name.
struct FileLoader: SchemeLoader {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    guard let url = request.urlRequest.url else {
      throw ErrorMapping.make(.badURL, because: "The request has no URL.")
    }
    let record = TransactionRecord(request: request.urlRequest, fetchType: .localCache, anchor: context.anchor)
    context.transactions.append(record)
    let reader = try await FileReader.open(url, loop: context.loop)
    let response = URLResponse(
      url: url, mimeType: PathExtensionMediaType.mediaType(forPathExtension: url.pathExtension),
      expectedContentLength: Int(reader.length), textEncodingName: nil)
    record.response = response
    return LoadedResponse(response: response, body: FileLoadBody(reader: reader, record: record, context: context))
  }
}

private final class FileLoadBody: LoadBody, @unchecked Sendable {
  private let reader: FileReader
  private let record: TransactionRecord
  private let context: LoadContext

  init(reader: FileReader, record: TransactionRecord, context: LoadContext) {
    self.reader = reader
    self.record = record
    self.context = context
  }

  func next() async throws -> ByteBuffer? {
    try await context.control.passGate()
    let bytes = try await reader.next()
    context.control.touch()
    try context.control.check()
    if let bytes {
      record.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
    } else {
      record.fetchEnd = .now()
    }
    return bytes
  }

  func discard() { reader.close() }
}
