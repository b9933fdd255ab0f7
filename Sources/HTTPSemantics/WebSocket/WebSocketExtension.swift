/// One member of Sec-WebSocket-Extensions (RFC 6455 §9.1).
package struct WebSocketExtension: Sendable, Equatable {
  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: String?

    package init(name: String, value: String?) {
      self.name = name
      self.value = value
    }
  }

  package var name: String
  package var parameters: [Parameter]

  /// Reads the values of every Sec-WebSocket-Extensions field of a message, in order; nil when one is not well-formed.
  ///
  /// Names are tokens and in lower case here. A value may be quoted, but must be a token then too.
  package static func list(_ values: [String]) -> [WebSocketExtension]? {
    var found: [WebSocketExtension] = []
    for value in values {
      for member in value.split(separator: ",", omittingEmptySubsequences: false) {
        let pieces = member.split(separator: ";", omittingEmptySubsequences: false).map {
          $0.trimmingHTTPWhitespace()
        }
        // RFC 9110 §5.6.1: empty members of a list count for nothing.
        if pieces == [""] { continue }
        guard let name = pieces.first, isToken(name) else { return nil }
        var parameters: [Parameter] = []
        for piece in pieces.dropFirst() {
          guard let parameter = parameter(piece) else { return nil }
          parameters.append(parameter)
        }
        found.append(WebSocketExtension(name: name.asciiLowercased(), parameters: parameters))
      }
    }
    return found
  }

  private static func parameter(_ text: String) -> Parameter? {
    guard let equals = text.firstIndex(of: "=") else {
      return isToken(text) ? Parameter(name: text.asciiLowercased(), value: nil) : nil
    }
    let name = text[..<equals].trimmingHTTPWhitespace()
    var value = text[text.index(after: equals)...].trimmingHTTPWhitespace()
    if value.count >= 2, value.first == "\"", value.last == "\"" { value = String(value.dropFirst().dropLast()) }
    guard isToken(name), isToken(value) else { return nil }
    return Parameter(name: name.asciiLowercased(), value: value)
  }

  private static func isToken(_ text: String) -> Bool { FieldValidation.isFieldName(text) }
}
