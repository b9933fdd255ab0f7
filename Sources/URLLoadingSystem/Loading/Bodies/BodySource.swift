import HTTPTransport
import NIOCore

/// The next part of a body, as far as it is known now.
package enum BodyPart {
  /// Bytes, never none.
  case bytes(ByteBuffer)
  case end
  /// Nothing is here yet.
  case pending
  /// More may be had at once, but much time was taken already: other loads of the loop come first.
  case busy
}

/// The source of the bytes of a response body. Called on the load's event loop, which `LoadBody` asserts.
package protocol BodySource: Abortable {
  /// The bytes that are here. After `end` and after an error it is not called again.
  func take() throws -> BodyPart
  /// Calls `action` once, when `take` may give something else than `pending`. Not from within this call.
  func whenReadable(_ action: @escaping () -> Void)
  /// Gives up the rest.
  func discard()
  /// See `LoadBody.takeOver`.
  func takeOver() async throws -> any DuplexStream
}

extension BodySource {
  package func takeOver() async throws -> any DuplexStream {
    throw ErrorMapping.make(.badServerResponse, because: "There is no connection to take over behind this response.")
  }
}

/// Work on a body as it is pulled: decoding, the cache's copy. Called on the load's event loop, which `LoadBody` asserts.
protocol BodyFilter: AnyObject {
  /// The next part of what comes out. `input` takes from what stands before the filter; it is called as often as
  /// needed, and not after it gave `end`.
  func take(from input: () throws -> BodyPart) throws -> BodyPart
}
