import HTTPSemantics
import NIOHPACK

/// A request's head as the field list of a HEADERS frame (RFC 9113 §8.3.1).
///
/// As in HTTP/1.1, whatever could end a line early somewhere on the way is refused here.
package enum HTTP2RequestFields {
  package static func list(
    _ head: HTTPRequestHead, framing: RequestBodyFraming
  ) throws(FieldValidation.Refusal) -> HPACKHeaders {
    guard FieldValidation.isMethod(head.method) else { throw .invalidMethod }
    guard FieldValidation.isTarget(head.target) else { throw .invalidTarget }
    guard FieldValidation.isAuthority(head.authority) else { throw .invalidAuthority }
    var list = HPACKHeaders()
    list.reserveCapacity(head.fields.fields.count + 6)
    list.add(name: ":method", value: head.method)
    if let name = head.connectProtocol {
      guard FieldValidation.isFieldName(name) else { throw .invalidMethod }
      list.add(name: ":protocol", value: name)
    }
    if head.method != "CONNECT" || head.connectProtocol != nil {
      let (scheme, path) = schemeAndPath(of: head)
      list.add(name: ":scheme", value: scheme)
      list.add(name: ":authority", value: head.authority)
      list.add(name: ":path", value: path)
    } else {
      // RFC 9113 §8.5: a tunnel has neither scheme nor path.
      list.add(name: ":authority", value: head.authority)
    }
    let nominated = nominatedFields(head.fields)
    for field in head.fields.fields {
      guard FieldValidation.isFieldName(field.name) else { throw .invalidName(field.name) }
      guard FieldValidation.isFieldValue(field.value) else { throw .invalidValue(name: field.name) }
      let name = field.name.lowercased()
      guard isSent(name, field.value), !nominated.contains(name) else { continue }
      list.add(name: name, value: field.value, indexing: isSecret(name) ? .neverIndexed : .indexable)
    }
    if case .length(let length) = framing { list.add(name: "content-length", value: String(max(0, length))) }
    return list
  }

  /// A proxy is told the whole URL (RFC 9112 §3.2.2), which HTTP/2 has in parts.
  private static func schemeAndPath(of head: HTTPRequestHead) -> (String, String) {
    guard !head.target.hasPrefix("/"), let colon = head.target.firstRange(of: "://") else {
      return (head.scheme, head.target)
    }
    let rest = head.target[colon.upperBound...]
    let path = rest.firstIndex { $0 == "/" || $0 == "?" }.map { String(rest[$0...]) } ?? "/"
    return (head.target[..<colon.lowerBound].asciiLowercased(), path.hasPrefix("/") ? path : "/" + path)
  }

  /// The trailers that may be sent, or nil when there are none.
  package static func trailers(_ fields: HTTPFields?) -> HPACKHeaders? {
    guard let fields else { return nil }
    var list = HPACKHeaders()
    for field in FieldValidation.sanitized(fields).sent.fields {
      let name = field.name.lowercased()
      guard isSent(name, field.value) else { continue }
      list.add(name: name, value: field.value)
    }
    return list.isEmpty ? nil : list
  }

  /// RFC 9113 §8.2.2: HTTP/1.1's connection management does not exist; `:authority` and the framing speak for themselves.
  private static func isSent(_ name: String, _ value: String) -> Bool {
    switch name {
    case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "host", "content-length",
      "http2-settings":
      false
    case "te": asciiCaseInsensitiveEqual(value.trimmingHTTPWhitespace(), "trailers")
    default: true
    }
  }

  /// The fields that Connection names go no further than the connection (RFC 9110 §7.6.1).
  private static func nominatedFields(_ fields: HTTPFields) -> [String] {
    guard let connection = fields["Connection"] else { return [] }
    return connection.utf8.split(separator: UInt8(ascii: ",")).map {
      String(Substring($0)).trimmingHTTPWhitespace().lowercased()
    }
  }

  /// RFC 7541 §7.1.3: what must not be guessed through the size of compressed heads.
  private static func isSecret(_ name: String) -> Bool {
    name == "cookie" || name == "authorization" || name == "proxy-authorization"
  }
}
