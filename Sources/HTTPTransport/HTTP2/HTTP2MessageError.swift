import HTTPSemantics

/// Why a stream does not carry an HTTP response (RFC 9113 §8.1.1). The stream ends; the connection goes on.
package enum HTTP2MessageError: Error, Sendable, Equatable {
  /// `:status` is missing, comes twice, or is no status.
  case invalidStatus
  /// A pseudo-field that responses don't have, or one behind an ordinary field or among trailers.
  case unexpectedPseudoField
  /// A name in upper case, or that is no name.
  case invalidFieldName
  /// A control character in a field's value.
  case invalidFieldValue
  /// A field that speaks of the connection, which HTTP/2 has other means for (RFC 9113 §8.2.2).
  case connectionField(String)
  case framing(FramingError)
  /// DATA before the final head, or an interim response that ends the stream.
  case bodyWithoutHead
  /// Header fields in the middle of the body.
  case trailersBeforeEnd
  /// Header fields in a tunnel, which carries bytes alone (RFC 9113 §8.5).
  case fieldsInTunnel
  /// More body bytes than Content-Length says, or a body where none can be.
  case bodyTooLong
  /// The interim responses and the head are longer than allowed.
  case headTooLarge
  case trailersTooLarge
  case tooManyFields
  case tooManyInterimResponses
  case endedBeforeHead
  /// Counts of body bytes.
  case bodyTooShort(received: Int64, expected: Int64)

  package var sentence: String {
    switch self {
    case .invalidStatus: "The response has no valid status."
    case .unexpectedPseudoField: "The response has a pseudo-field that does not belong there."
    case .invalidFieldName: "A header field of the response has a name that HTTP/2 does not allow."
    case .invalidFieldValue: "A header field of the response holds a control character."
    case .connectionField(let name): "The response has the field \(name), which HTTP/2 does not allow."
    case .framing(let error): error.sentence
    case .bodyWithoutHead: "The response's body comes before its head."
    case .trailersBeforeEnd: "The response has header fields in the middle of its body."
    case .fieldsInTunnel: "The server sends header fields in the middle of a tunnel."
    case .bodyTooLong: "The response's body is longer than announced."
    case .headTooLarge: "The head of the response is too long."
    case .trailersTooLarge: "The trailers of the response are too long."
    case .tooManyFields: "The response has too many header or trailer fields."
    case .tooManyInterimResponses: "The server sends interim responses without end."
    case .endedBeforeHead: "The response ended before its head was complete."
    case .bodyTooShort(let received, let expected):
      "The response ended after \(received) of its \(expected) bytes."
    }
  }

  /// Nothing that contradicts itself becomes data.
  var transportError: TransportError {
    switch self {
    case .headTooLarge, .trailersTooLarge, .tooManyFields, .tooManyInterimResponses:
      .responseTooLarge(reason: sentence)
    case .endedBeforeHead, .bodyTooShort: .connectionLost(reason: sentence)
    default: .malformedResponse(reason: sentence)
    }
  }
}
