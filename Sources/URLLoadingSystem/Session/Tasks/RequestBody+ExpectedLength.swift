import Foundation

extension RequestBody {
  /// The length in bytes of what `request` will send: 0 without a body, -1 when the length is not known.
  func expectedLength(in request: URLRequest?) -> Int64 {
    switch self {
    case .data(let data): return Int64(data.count)
    case .file(let url): return RequestBody.length(ofFile: url) ?? NSURLSessionTransferSizeUnknown
    case .content(let content): return content.length
    case .none:
      if let data = request?.httpBody { return Int64(data.count) }
      return request?.httpBodyStream == nil ? 0 : announcedLength(request)
    case .stream, .streamFromClient: return announcedLength(request)
    }
  }

  /// An app that knows the length of its stream says so in the header.
  private func announcedLength(_ request: URLRequest?) -> Int64 {
    let field = request?.value(forHTTPHeaderField: "Content-Length")
    guard let length = field.flatMap({ Int64($0) }), length >= 0 else { return NSURLSessionTransferSizeUnknown }
    return length
  }

  private static func length(ofFile url: URL) -> Int64? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
    return (attributes?[.size] as? NSNumber)?.int64Value
  }
}
