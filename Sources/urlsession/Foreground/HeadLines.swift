import CommandLineOutput
import Foundation
import URLLoadingSystem

/// The head of a response as `get -i` writes it.
enum HeadLines {
  /// The status line and the header fields as they came. What is not HTTP has a type and a length.
  static func lines(of response: URLResponse) -> [String] {
    guard let response = response as? HTTPURLResponse else {
      let length = response.expectedContentLength
      return ["\(response.mimeType ?? "unknown type")" + (length < 0 ? "" : ", \(ByteFormat.bytes(length))")]
    }
    let head = response.headText
    return [head.firstLine] + head.fields.map { "\($0.name): \($0.value)" }
  }

  /// The fields by name, each once.
  static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
    response.allHeaderFields.compactMap { name, value in
      guard let name = name as? String, let value = value as? String else { return nil }
      return (name, value)
    }.sorted { $0.name < $1.name }
  }
}
