import CommandLineOutput
import Foundation
import URLLoadingSystem

/// The head of a response as `get -i` writes it.
enum HeadLines {
  /// The status line and the header fields as they came. What is not HTTP has a type and a length.
  static func lines(of response: URLResponse, hidesUsers: Bool = false) -> [String] {
    guard let response = response as? HTTPURLResponse else {
      let length = response.expectedContentLength
      return ["\(response.mimeType ?? "unknown type")" + (length < 0 ? "" : ", \(ByteFormat.bytes(length))")]
    }
    return lines(of: response.headText, hidesUsers: hidesUsers)
  }

  /// - Parameter hidesUsers: for a log, which must not have the secrets that were typed or that a server gave.
  static func lines(of head: MessageHeadText, hidesUsers: Bool) -> [String] {
    [head.firstLine]
      + head.fields.map { "\($0.name): \(hidesUsers ? ShownFields.value($0.value, of: $0.name) : $0.value)" }
  }

  /// The fields by name, each once.
  static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
    response.allHeaderFields.compactMap { name, value in
      guard let name = name as? String, let value = value as? String else { return nil }
      return (name, value)
    }.sorted { $0.name < $1.name }
  }
}
