/// Why the length of a message can't be known. The connection is of no use after any of them.
package enum FramingError: Error, Sendable, Equatable, CaseIterable {
  case conflictingLengths
  case lengthWithTransferEncoding
  case invalidLength
  case invalidTransferEncoding
  case unsupportedTransferEncoding

  package var sentence: String {
    switch self {
    case .conflictingLengths: "The response gives two different values for Content-Length."
    case .lengthWithTransferEncoding: "The response has both Content-Length and Transfer-Encoding."
    case .invalidLength: "The response's Content-Length is not a decimal number that fits 63 bits."
    case .invalidTransferEncoding: "The response's Transfer-Encoding is empty or names chunked more than once."
    case .unsupportedTransferEncoding: "The response uses a transfer coding other than chunked."
    }
  }
}
