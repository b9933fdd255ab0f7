import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// The outcome of a load once its response head is known; the body is still to be pulled.
package struct LoadedResponse: Sendable {
  package var response: URLResponse
  /// The head as it came off the wire; nil unless the response came by HTTP.
  package var head: HTTPResponseHead?
  package var body: any LoadBody

  package init(response: URLResponse, head: HTTPResponseHead? = nil, body: any LoadBody) {
    self.response = response
    self.head = head
    self.body = body
  }
}

/// A response body that is pulled, chunk by chunk, on the load's event loop. Not pulling stops the socket.
package protocol LoadBody: AnyObject, Sendable {
  /// The next bytes, never empty; nil at the end of the body. Throws what ends the load.
  func next() async throws -> ByteBuffer?
  /// Gives up the rest. The connection is reused only when nothing was left to read.
  func discard()
  /// The connection itself in place of the body: after a 101, or where the body ends with the connection. Throws, and
  /// changes nothing, when the body is framed or made up.
  func takeOver() async throws -> any DuplexStream
}

extension LoadBody {
  package func takeOver() async throws -> any DuplexStream {
    throw ErrorMapping.make(.badServerResponse, because: "There is no connection to take over behind this response.")
  }
}

/// A body that is already there: `data:` URLs, answers made up by a stage.
package final class BufferedLoadBody: LoadBody, @unchecked Sendable {
  private var remaining: ByteBuffer?

  package init(_ bytes: ByteBuffer?) { remaining = bytes.flatMap { $0.readableBytes > 0 ? $0 : nil } }

  package func next() async throws -> ByteBuffer? {
    defer { remaining = nil }
    return remaining
  }

  package func discard() { remaining = nil }
}
