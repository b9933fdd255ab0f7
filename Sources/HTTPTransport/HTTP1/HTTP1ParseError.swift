import HTTPSemantics

/// Why the bytes of an HTTP/1.1 response can't be taken for one. After any of these the connection is of no use.
package enum HTTP1ParseError: Error, Sendable, Equatable {
  /// The head, interim responses included, is longer than allowed.
  case headTooLarge
  case tooManyFields
  case tooManyInterimResponses
  case invalidStatusLine
  /// A major version other than 1.
  case unsupportedVersion
  /// A field line without a colon, without a name, or with whitespace before the colon.
  case invalidFieldName
  /// A control character in a field's value.
  case invalidFieldValue
  case framing(FramingError)
  case invalidChunkSize
  /// A chunk size that does not fit 63 bits.
  case chunkSizeTooLarge
  /// The line with a chunk's size and extensions is longer than allowed.
  case chunkHeaderTooLarge
  /// A chunk's data is longer than its size says.
  case chunkOverrun
  case trailersTooLarge
  /// The connection ended before a byte of the response came.
  case closedBeforeHead
  /// The connection ended inside the response.
  case truncated(TruncatedPart)

  package enum TruncatedPart: Sendable, Equatable {
    case head
    /// Counts of body bytes.
    case body(received: Int64, expected: Int64)
    case chunkedBody(received: Int64)
  }

  package var sentence: String {
    switch self {
    case .headTooLarge: "The head of the response is too long."
    case .tooManyFields: "The response has too many header or trailer fields."
    case .tooManyInterimResponses: "The server sends interim responses without end."
    case .invalidStatusLine: "The response does not begin with an HTTP/1.1 status line."
    case .unsupportedVersion: "The response is of a version of HTTP other than 1."
    case .invalidFieldName: "A line of the response's head is not a header field."
    case .invalidFieldValue: "A header field of the response holds a control character."
    case .framing(let error): error.sentence
    case .invalidChunkSize: "A chunk of the response does not begin with its size."
    case .chunkSizeTooLarge: "A chunk of the response announces more bytes than can be counted."
    case .chunkHeaderTooLarge: "The line before a chunk of the response is too long."
    case .chunkOverrun: "A chunk of the response does not end where its size says."
    case .trailersTooLarge: "The trailer fields of the response are too long."
    case .closedBeforeHead: "The connection was closed before the response began."
    case .truncated(.head): "The connection was closed in the middle of the response's head."
    case .truncated(.body(let received, let expected)):
      "The connection was closed after \(received) of the response's \(expected) bytes."
    case .truncated(.chunkedBody(let received)):
      "The connection was closed after \(received) bytes, before the last chunk of the response."
    }
  }
}
