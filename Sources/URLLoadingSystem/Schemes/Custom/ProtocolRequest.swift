import Foundation

/// A request as protocols get it: with its body as a stream, whatever form it had.
struct ProtocolRequest: Sendable {
  let original: LoadRequest
  /// The stream that stands for the body; nil where the request has none or brought its own.
  private let stream: SendableInputStream?
  let shown: URLRequest

  /// - Parameter supplied: The stream that the app has given for this request; nil for none.
  init(_ request: LoadRequest, supplied: SendableInputStream? = nil) {
    original = request
    stream = supplied ?? ProtocolRequest.stream(of: request)
    var shown = request.urlRequest
    if let stream { shown.httpBodyStream = stream.stream }
    self.shown = shown
  }

  /// Whether the app must be asked for the stream of the body.
  var needsStream: Bool { if case .streamFromClient = original.body { stream == nil } else { false } }

  private static func stream(of request: LoadRequest) -> SendableInputStream? {
    switch request.body {
    case .none: return request.urlRequest.httpBody.map { SendableInputStream(InputStream(data: $0)) }
    case .data(let data):
      return SendableInputStream(InputStream(data: RequestBodySource.part(of: data, request.bodyRange)))
    case .file(let url):
      if let range = request.bodyRange { return SendableInputStream(FilePartStream(url, range)) }
      return InputStream(url: url).map { SendableInputStream($0) }
    case .stream(let stream): return stream
    // Protocols are an app's own, and apps have no such content.
    case .streamFromClient, .content: return nil
    }
  }

  /// Throws where the body is something in the file system that is no file: to open its stream could wait without end.
  /// Blocks. A file that is missing is left to the protocol, which may not need it.
  func checkFile() throws {
    if case .file(let url) = original.body { try FileReader.checkKind(of: url) }
  }

  /// `request`, which a protocol made, with the body that the app gave instead of the stream that stood for it.
  func restored(_ request: URLRequest) -> URLRequest {
    guard carriesBody(request) else { return request }
    var request = request
    request.httpBodyStream = nil
    if case .none = original.body { request.httpBody = original.urlRequest.httpBody }
    return request
  }

  /// The next hop of the load: `answer`, which the app chose, after a protocol has redirected to `target`.
  func next(_ answer: URLRequest, after target: URLRequest) -> LoadRequest {
    if let own = original.urlRequest.httpBodyStream, answer.httpBodyStream === own {
      // The protocol may have read it.
      return LoadRequest(answer.withoutBody, body: .streamFromClient)
    }
    guard carriesBody(target), keepsBody(answer, of: target) else { return LoadRequest(answer) }
    switch original.body {
    case .none: return LoadRequest(answer)
    case .data, .file, .content: return LoadRequest(answer, body: original.body, bodyRange: original.bodyRange)
    case .stream, .streamFromClient: return LoadRequest(answer, body: .streamFromClient)
    }
  }

  /// Whether the app has left the body to the request, and not made it one that has none.
  private func keepsBody(_ answer: URLRequest, of target: URLRequest) -> Bool {
    guard answer.httpBody == nil, answer.httpBodyStream == nil else { return false }
    let method = answer.httpMethod ?? "GET"
    return method == target.httpMethod ?? "GET" || !["GET", "HEAD"].contains(method)
  }

  private func carriesBody(_ request: URLRequest) -> Bool {
    guard let stream else { return false }
    return request.httpBodyStream === stream.stream
  }
}

extension URLRequest {
  fileprivate var withoutBody: URLRequest {
    var request = self
    request.httpBodyStream = nil
    return request
  }
}
