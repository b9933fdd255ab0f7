/// The limits of all that a server sends around the bodies of its responses, in any version of HTTP. `Docs/Errors.md` gives the
/// same numbers.
package struct ResponseLimits: Sendable {
  /// Bytes of a response's head, together with the interim responses before it; over HTTP/2 also without compression.
  package var headBytes = 1024 * 1024
  /// Interim responses before the final one. A server that is busy for hours sends one now and then.
  package var interimResponses = 256
  /// Fields in one head, or in the trailers. Some servers set thousands of cookies at once.
  package var fields = 5_000
  /// Bytes of the line before each chunk.
  package var chunkHeaderBytes = 4 * 1024
  /// Bytes of the trailers; over HTTP/2 also without compression.
  package var trailerBytes = 64 * 1024

  package static let standard = ResponseLimits()

  package init() {}
}
