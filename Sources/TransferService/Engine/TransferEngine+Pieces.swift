import DequeModule
import Dispatch
import TransferProtocol

/// Carries out requests that name many things in pieces, so that the requests of other apps are handled in between.
extension TransferEngine {
  /// How many things are one change of the queue: some milliseconds of work.
  static let pieceLength = 500

  /// Something that comes behind a request that is being carried out.
  enum Waiting {
    case message(ClientMessage)
    /// The rest of an earlier request.
    case work(@Sendable (TransferEngine) -> Void)
    case disconnected
  }

  /// Answers when all pieces are on the disk. What the connection sends later waits for the last one, since its requests are
  /// carried out in order. Where a piece fails, those before it stay done: such requests may be repeated.
  ///
  /// - Parameters:
  ///   - write: hands a piece to the store.
  ///   - then: once the piece is on the disk.
  func inPieces<Element: Sendable, Value: Sendable>(
    _ elements: [Element], of message: ClientMessage, from client: any ServiceClient,
    write: @escaping Write<Element, Value>, then: @escaping @Sendable (TransferEngine, [Element], Value) -> Void
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    clients[client.id]?.waiting = Deque()
    goOn(elements[...], of: message, from: client, write, then)
  }

  typealias Write<Element, Value> =
    @Sendable (TransferEngine, [Element], @escaping @Sendable (Result<Value, any Error>) -> Void) -> Void

  private func goOn<Element: Sendable, Value: Sendable>(
    _ rest: ArraySlice<Element>, of message: ClientMessage, from client: any ServiceClient,
    _ write: @escaping Write<Element, Value>, _ then: @escaping @Sendable (TransferEngine, [Element], Value) -> Void
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    let (piece, next) = (
      Array(rest.prefix(TransferEngine.pieceLength)), rest.dropFirst(TransferEngine.pieceLength)
    )
    whenWritten {
      write(self, piece, $0)
    } then: { engine, result in
      let done = Result {
        then(engine, piece, try result.get())
        if !next.isEmpty { try engine.checkServing() }
      }
      if case .success = done, !next.isEmpty { return engine.goOn(next, of: message, from: client, write, then) }
      // Once the events that the last piece has posted are handled, and before what the connection sends after the answer.
      engine.enter { $0.handleWaiting(of: client) }
      switch done {
      case .success: client.send(.reply(to: message.id, .done))
      case .failure(let error): engine.refuse(message, from: client, because: error)
      }
    }
  }

  /// Keeps what a connection has sent, when an earlier request of it is still being carried out.
  func keepWaiting(_ item: Waiting, of client: any ServiceClient) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    guard clients[client.id]?.waiting != nil else { return false }
    clients[client.id]?.waiting?.append(item)
    return true
  }

  func handleWaiting(of client: any ServiceClient) {
    dispatchPrecondition(condition: .onQueue(queue))
    var waiting = clients[client.id]?.waiting ?? []
    clients[client.id]?.waiting = nil
    while let next = waiting.popFirst() {
      switch next {
      case .message(let message): handle(message, from: client)
      case .work(let work): work(self)
      case .disconnected: forget(client)
      }
      guard clients[client.id]?.waiting == nil else {
        clients[client.id]?.waiting?.append(contentsOf: waiting)
        return
      }
    }
  }
}
