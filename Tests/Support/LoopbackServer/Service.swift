import Synchronization

/// What one server shares with all its connections: the test's script and what is noted for the test.
final class Service: Sendable {
  let options: LoopbackServer.Options
  let handler: LoopbackServer.Handler
  let heads = Recorder<RequestHead>()
  let requests = Recorder<RecordedRequest>()
  let failures = Recorder<ServerFailure>()
  private let arrivals = Atomic<Int>(0)

  init(options: LoopbackServer.Options, handler: @escaping LoopbackServer.Handler) {
    self.options = options
    self.handler = handler
  }

  /// Notes a head as soon as it was read.
  /// - Returns: it, with its place among those of the server.
  func arrived(_ head: RequestHead) -> RequestHead {
    var head = head
    head.arrival = arrivals.add(1, ordering: .relaxed).oldValue
    heads.record(head)
    return head
  }

  func failed(_ reason: ServerFailure.Reason, on connection: ServerConnection) {
    failures.record(ServerFailure(connection: connection.number, reason: reason))
  }
}

/// Something that went wrong on the server's side of a connection and that no script asked for.
package struct ServerFailure: Sendable, CustomStringConvertible {
  package enum Reason: Sendable {
    /// The client sent what is no HTTP/1 request.
    case malformedRequest(MalformedRequest)
    /// The test's handler threw.
    case handlerThrew(any Error)
    /// The connection failed: a TLS handshake the client refused, a reset by the client.
    case connectionFailed(any Error)
  }

  /// The connection's number.
  package let connection: Int
  package let reason: Reason

  package var description: String { "connection \(connection): \(reason)" }
}

/// What a server does with a request of which it has only the head.
package enum HeadDecision: Sendable {
  /// Reads the whole body, then asks the handler. No 100 (Continue) is sent, even if the client expects one.
  case readBody
  /// Sends 100 (Continue), reads the whole body, then asks the handler.
  case continueThenReadBody
  /// Replies now; the handler is not asked. Body that the reply's own steps do not read stays unread, and then the
  /// connection is closed after the reply.
  case reply(Reply)
  /// Leaves the stream to a script. HTTP/2 only.
  case hand(@Sendable (ScriptedStream) async throws -> Void)
}
