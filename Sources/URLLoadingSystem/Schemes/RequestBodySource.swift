import Foundation
import HTTPTransport
import NIOCore
import NIOPosix

/// The source of the bytes of a request body, read piece by piece and never ahead of the socket.
/// Confined to the load's loop; files and streams are read on a thread of the pool. Where there is no body, one object that
/// never changes stands for all.
final class RequestBodySource: @unchecked Sendable {
  let framing: RequestBodyFraming
  /// nil when the length is not known ahead.
  let length: Int64?
  /// nil where there is no body.
  private let reader: (any BodyReader)?
  /// nil where there is no body.
  private let loop: (any EventLoop)?
  private var hasBeenRead = false

  private static let none = RequestBodySource(nil, framing: .none, length: 0, on: nil)

  private init(_ reader: (any BodyReader)?, framing: RequestBodyFraming, length: Int64?, on loop: (any EventLoop)?) {
    self.reader = reader
    self.loop = loop
    self.framing = framing
    self.length = length
  }

  func next() async throws -> ByteBuffer? {
    loop?.assertInEventLoop()
    guard let reader else { return nil }
    hasBeenRead = true
    return try await reader.next()
  }

  /// An unread body may still be sent, by a second attempt.
  func close() {
    loop?.assertInEventLoop()
    if hasBeenRead { reader?.close() }
  }

  /// Whether it can be sent: by a first attempt, or by another one after an attempt that did not read it.
  var isUnread: Bool {
    loop?.assertInEventLoop()
    return !hasBeenRead
  }

  /// The body of a request that needs no file and no stream; nil otherwise. The task's own source wins over the
  /// request's body, which wins over its stream.
  static func immediate(_ request: LoadRequest, on loop: any EventLoop) -> RequestBodySource? {
    switch request.body {
    case .data(let data): return fromData(part(of: data, request.bodyRange), on: loop)
    case .file, .content, .stream, .streamFromClient: return nil
    case .none:
      if let data = request.urlRequest.httpBody { return fromData(data, on: loop) }
      if request.urlRequest.httpBodyStream != nil { return nil }
      return empty(method: request.urlRequest.httpMethod ?? "GET", on: loop)
    }
  }

  /// The body of any request.
  ///
  /// - Parameter used: The source that an earlier attempt has read; nil for none. A stream is then asked for again.
  static func open(
    _ request: LoadRequest, after used: RequestBodySource?, in context: LoadContext
  ) async throws -> RequestBodySource {
    context.loop.assertInEventLoop()
    if let immediate = immediate(request, on: context.loop) { return immediate }
    if let file = try await FileReader.open(request.body, in: context) {
      return read(file, request.bodyRange, in: context)
    }
    switch request.body {
    case .stream(let stream) where used == nil: return self.stream(stream, of: request.urlRequest, in: context)
    case .none where used == nil:
      if let stream = request.urlRequest.httpBodyStream {
        return self.stream(SendableInputStream(stream), of: request.urlRequest, in: context)
      }
      return empty(method: request.urlRequest.httpMethod ?? "GET", on: context.loop)
    case .data, .file, .content, .none, .stream, .streamFromClient:
      return try await streamFromClient(request, in: context)
    }
  }

  private static func fromData(_ data: Data, on loop: any EventLoop) -> RequestBodySource {
    let length = Int64(data.count)
    return RequestBodySource(DataReader(data), framing: .length(length), length: length, on: loop)
  }

  static func part(of data: Data, _ range: BodyRange?) -> Data {
    guard let range else { return data }
    return data.dropFirst(Int(clamping: range.start)).prefix(Int(clamping: range.count ?? .max))
  }

  private static func read(
    _ file: FileReader, _ range: BodyRange?, in context: LoadContext
  ) -> RequestBodySource {
    let length = range.map { file.restrict(to: $0) } ?? file.length
    return RequestBodySource(
      file, framing: length.map { .length($0) } ?? .chunked, length: length, on: context.loop)
  }

  private static func stream(
    _ stream: SendableInputStream, of request: URLRequest, in context: LoadContext
  ) -> RequestBodySource {
    let reader = StreamReader(stream, loop: context.loop)
    // A length that the app announces is taken at its word; the exchange checks that it is kept.
    if let text = request.value(forHTTPHeaderField: "Content-Length"), let length = Int64(text), length >= 0 {
      return RequestBodySource(reader, framing: .length(length), length: length, on: context.loop)
    }
    return RequestBodySource(reader, framing: .chunked, length: nil, on: context.loop)
  }

  private static func streamFromClient(
    _ request: LoadRequest, in context: LoadContext
  ) async throws -> RequestBodySource {
    let answer = try await context.control.whileClientHoldsLoad {
      try await context.client.load(context, needsBodyStreamFrom: request.bodyRange?.start ?? 0)
    }
    guard let answer else {
      throw ErrorMapping.make(.requestBodyStreamExhausted, because: "The request's body stream was not supplied.")
    }
    return stream(answer, of: request.urlRequest, in: context)
  }

  /// RFC 9110 §8.6: methods that usually carry a body say that theirs is empty.
  private static func empty(method: String, on loop: any EventLoop) -> RequestBodySource {
    switch method {
    case "POST", "PUT", "PATCH": RequestBodySource(DataReader(Data()), framing: .length(0), length: 0, on: loop)
    default: none
    }
  }
}

/// A body's bytes in order. nil at the end; never an empty buffer.
protocol BodyReader: AnyObject {
  func next() async throws -> ByteBuffer?
  func close()
}

private final class DataReader: BodyReader {
  private var rest: Data

  init(_ data: Data) { rest = data }

  func next() async throws -> ByteBuffer? {
    guard !rest.isEmpty else { return nil }
    let piece = rest.prefix(256 * 1024)
    rest = rest.dropFirst(piece.count)
    return ByteBuffer(bytes: piece)
  }

  func close() { rest = Data() }
}
