import Foundation
import HTTPSemantics

/// The fields that a request gets where neither the app nor the session has set them.
enum DefaultRequestFields {
  static func complete(_ fields: inout HTTPFields, of request: LoadRequest) {
    let urlRequest = request.urlRequest
    // Without a type, what is posted is taken for a form, as on Apple's systems.
    if urlRequest.httpMethod == "POST", request.hasContent, !fields.contains("Content-Type") {
      fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if !fields.contains("Accept") { fields.append("Accept", "*/*") }
    if let language, !fields.contains("Accept-Language") { fields.append("Accept-Language", language) }
    if !fields.contains("User-Agent") { fields.append("User-Agent", userAgent) }
    if urlRequest.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData, !fields.contains("Cache-Control") {
      fields.append("Cache-Control", "no-cache")
      if !fields.contains("Pragma") { fields.append("Pragma", "no-cache") }
    }
  }

  /// All fields of a request that has none of its own, the accepted codings among them: one list for all such requests. nil
  /// where the method or the policy adds others.
  static func all(for request: LoadRequest) -> HTTPFields? {
    let urlRequest = request.urlRequest
    guard urlRequest.cachePolicy != .reloadIgnoringLocalAndRemoteCacheData, urlRequest.httpMethod != "POST" else {
      return nil
    }
    return ofPlainRequests
  }

  private static let ofPlainRequests: HTTPFields = {
    var fields = HTTPFields()
    complete(&fields, of: LoadRequest(URLRequest()))
    fields.append("Accept-Encoding", ContentDecoding.accepted(fields))
    return fields
  }()

  /// `program (Linux) URLLoadingSystem`: the program's name first, as on Apple's systems.
  private static let userAgent: String = {
    let name = ProcessInfo.processInfo.processName.utf8.map { byte -> Character in
      let isToken = (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
      return isToken || "-._".utf8.contains(byte) ? Character(UnicodeScalar(byte)) : "_"
    }
    return "\(String(name.isEmpty ? ["_"] : name)) (unknown version) URLLoadingSystem Linux"
  }()

  /// The user's languages by falling weight, `de-CH,de;q=0.9,en;q=0.8`; nil where the locale names none.
  private static let language = AcceptLanguage.value(environment: ProcessInfo.processInfo.environment)
}
