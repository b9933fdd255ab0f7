import HTTPSemantics
import NIOCore

/// One request and its response on one connection (HTTP/1.1) or one stream (HTTP/2).
///
/// Life cycle, all of it on the connection's event loop:
/// 1. `send(head:body:)` writes the head; with `.none` that is the whole request.
/// 2. A body is written by `write(_:)`, which suspends while the socket is full, and ended by `finish(trailers:)`.
///    The response may be read at the same time.
/// 3. `takeHead()` returns 1xx responses one by one and at last the final one.
/// 4. `takeBody()` pulls the body: no call, no read from the socket. After the end `trailers` is set.
///    Where 3 and 4 return nil nothing is here yet: `whenReadable` says when another call is worth it.
/// 5. `end()` gives the connection back: to the pool when both sides are complete, else it is closed.
/// `abort(_:)` fails whatever waits, at any moment, and closes what can't be used again.
/// `takeOver()` ends an exchange too: after its final head, the connection (HTTP/2: the stream) leaves HTTP behind.
package protocol HTTPExchange: Abortable, Sendable {
  func send(head: HTTPRequestHead, body: RequestBodyFraming) throws
  func write(_ bytes: ByteBuffer) async throws
  func finish(trailers: HTTPFields?) async throws
  func takeHead() throws -> HTTPResponseHead?
  func takeBody() throws -> ResponseBodyPart?
  /// Calls `action` once, when bytes have arrived or the exchange has failed. One action waits at a time.
  func whenReadable(_ action: @escaping () -> Void)
  var trailers: HTTPFields? { get }
  var record: ExchangeRecord { get }
  /// Calls `moved` if bytes of the request have left, or were acknowledged by the peer, since the call before. Asks the
  /// kernel, so it is not for every byte.
  func lookAtSending(_ moved: @escaping () -> Void)
  /// Calls `measured` with the seconds of a round trip over the connection, queues on the way included; not at all where
  /// they are not known. Asks the kernel.
  func measureDelay(_ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void)
  /// Has the other side send no more than so many bytes before they are read, where the connection carries nothing else; nil for
  /// as many as the system finds right.
  func limitReceiveWindow(_ bytes: Int?)
  /// Tells the server of another importance of a request that it has (RFC 9218 §7), where there is a way to tell.
  /// - Parameter value: as the field Priority would have it.
  func setPriority(_ value: String)
  func end()
  /// How a request asks for another protocol here. Waits for the server to say what it offers, where it has to.
  func protocolChange() async throws -> ProtocolChange
  /// Keeps the connection for further exchanges of the same conversation, such as the requests by which NTLM
  /// authenticates a connection. nil where it serves others too.
  func reserveConnection() async -> ConnectionReservation?
  /// The bytes behind the final head, both ways: after a 101 that was asked for (RFC 9110 §7.8) or the 2xx of an
  /// extended CONNECT, or where the response ends with the connection. Throws, and changes nothing, when the rest is
  /// framed.
  func takeOver() async throws -> any DuplexStream
}

/// The result of a pull of a response's body.
package enum ResponseBodyPart: Sendable {
  /// Bytes, never none.
  case bytes(ByteBuffer)
  case end
}

/// How a connection comes to carry another protocol than HTTP.
package enum ProtocolChange: Sendable {
  /// With the field Upgrade, all of it (RFC 9110 §7.8).
  case upgrade
  /// With an extended CONNECT, in one stream (RFC 8441).
  case extendedConnect
  /// Not at all: the server does not offer it.
  case impossible
}

extension HTTPExchange {
  package func protocolChange() async throws -> ProtocolChange { .upgrade }

  package func setPriority(_ value: String) {}

  package func lookAtSending(_ moved: @escaping () -> Void) {}

  package func limitReceiveWindow(_ bytes: Int?) {}

  package func measureDelay(
    _ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void
  ) {}

  /// Waits for the next head.
  package func nextHead() async throws -> HTTPResponseHead {
    while true {
      if let head = try takeHead() { return head }
      await readable()
    }
  }

  /// Waits for the next bytes of the body; nil at its end.
  package func nextChunk() async throws -> ByteBuffer? {
    while true {
      switch try takeBody() {
      case .bytes(let bytes): return bytes
      case .end: return nil
      case nil: await readable()
      }
    }
  }

  package func readable() async {
    await withUnsafeContinuation { continuation in whenReadable { continuation.resume() } }
  }

  package func reserveConnection() async -> ConnectionReservation? { nil }

  package func takeOver() async throws -> any DuplexStream {
    throw TransportError.invalidRequest(reason: "this connection serves HTTP alone")
  }
}

/// How the body of a request is delimited on the wire (RFC 9112 §6).
package enum RequestBodyFraming: Sendable, Equatable {
  case none
  case length(Int64)
  case chunked
}
