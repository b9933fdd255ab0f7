import Foundation
import HTTPTransport
import NIOCore

/// The body of a response as a stream that can only be read, for a data task that becomes a stream task where HTTP goes
/// on to delimit what comes: a body of known length, in chunks, decoded, or of one stream among others.
final class ResponseStream: DuplexStream, @unchecked Sendable {
  private let loop: any EventLoop
  // Confined to the loop of the load.
  private let body: LoadBody
  private var first: ByteBuffer?
  private var endActions: [@Sendable () -> Void] = []

  init(_ body: LoadBody, on loop: any EventLoop) {
    self.body = body
    self.loop = loop
  }

  func read() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    if let first {
      self.first = nil
      return first
    }
    let bytes = try await body.next()
    if bytes == nil {
      let actions = endActions
      endActions = []
      for action in actions { action() }
    }
    return bytes
  }

  func unread(_ bytes: ByteBuffer) {
    loop.assertInEventLoop()
    first = bytes
  }

  func write(_ bytes: ByteBuffer) async throws { throw POSIXError(.EPIPE) }

  func closeWrite() async throws {}

  func end(sending last: ByteBuffer?, patience: TimeAmount) { body.discard() }

  func close() { body.discard() }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {
    loop.assertInEventLoop()
    endActions.append(action)
  }

  func startTLS(_ terms: TLSTerms) async throws {
    throw TransportError.tlsHandshakeFailed(.other("a response's body can't become a TLS connection"))
  }
}
