/// A media type with its parameters: the value of Content-Type (RFC 9110 §8.3.1).
package struct MediaType: Sendable, Equatable {
  /// In lower case.
  package var type: String
  /// In lower case.
  package var subtype: String
  package var parameters: FieldParameters

  package init(type: String, subtype: String, parameters: FieldParameters = FieldParameters()) {
    self.type = type
    self.subtype = subtype
    self.parameters = parameters
  }

  /// nil unless there is a type and a subtype. Of several values joined by commas the first is read.
  package init?(parsing value: String) {
    let text = value.utf8
    let essence = text.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
    let parts = essence.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, let first = parts.first, let second = parts.last else { return nil }
    let type = String(Substring(first)).trimmingHTTPWhitespace()
    let subtype = String(Substring(second)).trimmingHTTPWhitespace()
    guard !type.isEmpty, !subtype.isEmpty, type.utf8.allSatisfy(\.isToken), subtype.utf8.allSatisfy(\.isToken) else {
      return nil
    }
    self.init(
      type: type.asciiLowercased(), subtype: subtype.asciiLowercased(),
      parameters: FieldParameters(parsing: text[essence.endIndex...], endsAtComma: true))
  }

  /// `type/subtype`, in lower case, without parameters.
  package var essence: String { type + "/" + subtype }

  /// The name of the character encoding as written; nil when absent or empty.
  package var charset: String? { parameters["charset"].flatMap { $0.isEmpty ? nil : $0 } }
}
