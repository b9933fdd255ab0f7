import Foundation
import URLLoadingSystem

/// The output of `get --json`. Every key is always there; what does not apply is null.
struct GetReport: Encodable, Sendable {
  var url: String
  /// After redirects.
  var finalURL: String?
  var status: Int?
  var statusText: String?
  var headers: [String: String] = [:]
  /// Of the body, after content decoding.
  var bytes: Int64 = 0
  var seconds: Double = 0
  /// The place where the body is.
  var path: String?
  var failure: CommandFailure?

  /// The URLs are shown without a password.
  init(url: URL?) { self.url = url?.withoutPassword.absoluteString ?? "" }

  mutating func fail(_ failure: CommandFailure) {
    self.failure = failure
    path = nil
  }

  mutating func adopt(_ response: URLResponse?) {
    guard let response else { return }
    finalURL = response.url?.withoutPassword.absoluteString
    guard let response = response as? HTTPURLResponse else { return }
    status = response.statusCode
    statusText = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
    for (name, value) in HeadLines.fields(of: response) { headers[name] = ShownFields.value(value, of: name) }
  }

  private enum CodingKeys: String, CodingKey {
    case url, finalURL, status, statusText, headers, bytes, seconds, path, error, exitCode
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encode(finalURL, forKey: .finalURL)
    try container.encode(status, forKey: .status)
    try container.encode(statusText, forKey: .statusText)
    try container.encode(headers, forKey: .headers)
    try container.encode(bytes, forKey: .bytes)
    try container.encode((seconds * 1000).rounded() / 1000, forKey: .seconds)
    try container.encode(path, forKey: .path)
    try container.encode(failure?.what, forKey: .error)
    try container.encode(failure?.status.rawValue ?? 0, forKey: .exitCode)
  }
}
