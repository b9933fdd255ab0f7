import Foundation
import HTTPSemantics

/// The fields of a form as browsers send them: `application/x-www-form-urlencoded` (WHATWG URL standard §5), for the body
/// of a request or the query of a URL.
///
/// Names and values are encoded one by one, whatever they have in them. What a person typed can therefore neither add a
/// field nor change another one, which encoding a text that has its separators already can't prevent: in that, `&` and
/// `=` have to stay as they are. `URLComponents.queryItems` leaves `+` as it is, which servers read as a space.
///
///     var request = URLRequest(url: url)
///     request.httpMethod = "POST"
///     request.setBody(URLEncodedForm([URLQueryItem(name: "comment", value: "1 + 1 = 2 & more")]))
///     // comment=1+%2B+1+%3D+2+%26+more
public struct URLEncodedForm: Hashable, Sendable {
  /// The names and values, in order, without any encoding. A name may be there more than once. One whose value is nil
  /// is written without `=`.
  public var fields: [URLQueryItem]

  /// A form with `fields`, whose names and values are not encoded.
  public init(_ fields: [URLQueryItem] = []) { self.fields = fields }

  /// The fields of text that is encoded: the body of a form, or the query of a URL.
  ///
  /// Nothing is malformed: a `%` that two hexadecimal digits do not follow stands for itself, bytes that are not UTF-8
  /// become U+FFFD, and empty fields are left out.
  public init(parsing text: String) {
    fields = FormEncoding.fields(of: text).map { URLQueryItem(name: $0.name, value: $0.value) }
  }

  /// Adds a field at the end. nil for a name without `=`.
  public mutating func append(_ name: String, _ value: String?) {
    fields.append(URLQueryItem(name: name, value: value))
  }

  /// The fields as text that has letters, digits and `*-._+%&=` only. A space is `+`, everything else is
  /// percent-encoded as UTF-8. Empty for a form without fields.
  public var encoded: String { FormEncoding.encoded(fields.map { ($0.name, $0.value) }) }

  /// `encoded` as the bytes of a body.
  public var data: Data { Data(encoded.utf8) }

  /// The media type of `data`: `application/x-www-form-urlencoded`.
  public static let mediaType = "application/x-www-form-urlencoded"
}

extension URLEncodedForm: ExpressibleByDictionaryLiteral {
  /// A form with the names and values of `elements`, in their order.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { URLQueryItem(name: $0, value: $1) }
  }
}

extension URLRequest {
  /// Makes `form` the body, and sets Content-Type accordingly. The method stays as it is: set `POST` for a form.
  public mutating func setBody(_ form: URLEncodedForm) {
    httpBody = form.data
    setValue(URLEncodedForm.mediaType, forHTTPHeaderField: "Content-Type")
  }
}

extension URLComponents {
  /// Makes `form` the query. A form without fields takes the query away.
  public mutating func setQuery(_ form: URLEncodedForm) {
    percentEncodedQuery = form.fields.isEmpty ? nil : form.encoded
  }
}
