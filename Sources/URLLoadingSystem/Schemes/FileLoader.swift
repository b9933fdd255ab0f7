import Foundation
import HTTPSemantics
import NIOCore

/// Loads `file:` URLs: the file's bytes, its size as the length, and a MIME type guessed from its name.
enum FileLoader {
  static func begin(_ run: PipelineRun, _ url: URL) -> LoadStep {
    let context = run.context
    let record = context.makeRecord(of: run, .localCache)
    if let record { context.transactions.append(record) }
    return .wait {
      let reader = try await FileReader.open(url, loop: context.loop)
      let response = URLResponse(
        url: url, mimeType: PathExtensionMediaType.mediaType(forPathExtension: url.pathExtension),
        expectedContentLength: Int(reader.length), textEncodingName: nil)
      record?.response = response
      let body = LoadBody(
        AwaitedBody(FileBodyReader(reader, record: record, control: context.control), on: context.executor), in: context
      )
      return .answer(LoadedResponse(response: response, body: body, record: record))
    }
  }
}

/// The bytes of a file as a response's body. Confined to the load's event loop.
private final class FileBodyReader: AwaitedBody.Reader {
  private let reader: FileReader
  private let record: TransactionRecord?
  private let control: LoadControl

  init(_ reader: FileReader, record: TransactionRecord?, control: LoadControl) {
    self.reader = reader
    self.record = record
    self.control = control
  }

  func next() async throws -> ByteBuffer? {
    let bytes = try await reader.next()
    control.touch()
    if let bytes {
      record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
    } else {
      record?.fetchEnd = .now()
    }
    return bytes
  }

  /// A read of a file ends by itself.
  func abort(_ error: any Error) {}

  func close() { reader.close() }
}
