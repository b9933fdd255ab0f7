import Foundation
import HTTPSemantics
import NIOCore

/// Loads `file:` URLs: the bytes of regular files of this machine, read while they are taken.
///
/// Files are read, by GET, and HEAD tells of them. A Range of one part is obeyed: the response's length is then that of
/// the part.
enum FileLoader {
  static func begin(_ run: PipelineRun, _ url: URL) -> LoadStep {
    let context = run.context
    let request = run.request.urlRequest
    let method = request.httpMethod ?? "GET"
    guard method == "GET" || method == "HEAD", !run.request.hasBody else {
      return .fail(
        error(.unsupportedURL, "Files can be read (GET, HEAD), and not written or changed by a request.", url))
    }
    guard isOfThisMachine(url) else {
      return .fail(error(.cannotOpenFile, "The URL names a file of the machine \(url.host ?? "").", url))
    }
    let record = context.makeRecord(of: run, .localCache)
    if let record { context.transactions.append(record) }
    let range = request.value(forHTTPHeaderField: "Range").flatMap { RequestedRange($0) }
    return .wait {
      let reader = try await FileReader.open(url, findsMediaType: true, loop: context.loop)
      var length = reader.length
      if let total = reader.length, let range {
        guard let part = range.resolved(total: total) else {
          throw error(.resourceUnavailable, "The file ends before the range that was asked for begins.", url)
        }
        length = reader.restrict(to: BodyRange(start: part.first, count: part.last - part.first + 1))
      }
      let response = URLResponse(
        url: url, mimeType: reader.mediaType, expectedContentLength: length.map { Int($0) } ?? -1,
        textEncodingName: nil)
      record?.response = response
      if method == "HEAD" { reader.close() }
      let body = LoadBody(
        AwaitedBody(FileBodyReader(reader, record: record, in: context), on: context.executor), in: context
      )
      return .answer(LoadedResponse(response: response, body: body, record: record))
    }
  }

  /// RFC 8089 §2: without a host, or with this one's.
  private static func isOfThisMachine(_ url: URL) -> Bool {
    let host = url.host ?? ""
    return host.isEmpty || host.asciiLowercased() == "localhost"
  }

  private static func error(_ code: URLError.Code, _ sentence: String, _ url: URL) -> URLError {
    ErrorMapping.urlError(ErrorMapping.make(code, because: sentence), url: url)
  }
}

/// The bytes of a file as a response's body. Confined to the load's event loop.
private final class FileBodyReader: AwaitedBody.Reader {
  private let reader: FileReader
  private let record: TransactionRecord?
  private let context: LoadContext

  init(_ reader: FileReader, record: TransactionRecord?, in context: LoadContext) {
    self.reader = reader
    self.record = record
    self.context = context
  }

  func next() async throws -> ByteBuffer? {
    context.loop.assertInEventLoop()
    let bytes = try await reader.next()
    context.control.touch()
    if let bytes {
      record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
    } else {
      record?.fetchEnd = .now()
    }
    return bytes
  }

  /// A read of a file ends by itself.
  func abort(_ error: any Error) {}

  func close() {
    context.loop.assertInEventLoop()
    reader.close()
  }
}
