import DequeModule
import Dispatch
import TransferProtocol

/// Carries out requests that name many things in pieces, so that the requests of other apps are handled in between.
extension TransferEngine {
  /// How many things are changed before others have their turn: some milliseconds of work, and one commit.
  static let pieceLength = 500

  /// Something that comes behind a request that is being carried out.
  enum Waiting {
    case message(ClientMessage)
    /// The rest of an earlier request.
    case work(@Sendable (TransferEngine) -> Void)
    case disconnected
  }

  /// The first piece is carried out now. What the connection sends later waits for the last one, since its requests are
  /// carried out in order. Where a piece fails, those before it stay done: such requests may be repeated.
  ///
  /// - Returns: the answer; nil when it comes later.
  func inPieces<Element: Sendable>(
    _ elements: [Element], of message: ClientMessage, from client: any ServiceClient,
    _ work: @escaping @Sendable (TransferEngine, [Element]) throws -> Void
  ) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    let length = TransferEngine.pieceLength
    try work(self, Array(elements.prefix(length)))
    guard elements.count > length else { return .done }
    clients[client.id]?.waiting = Deque()
    enter { $0.goOn(elements.dropFirst(length), of: message, from: client, work) }
    return nil
  }

  private func goOn<Element: Sendable>(
    _ rest: ArraySlice<Element>, of message: ClientMessage, from client: any ServiceClient,
    _ work: @escaping @Sendable (TransferEngine, [Element]) throws -> Void
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    let next = rest.dropFirst(TransferEngine.pieceLength)
    do {
      try checkServing()
      try work(self, Array(rest.prefix(TransferEngine.pieceLength)))
    } catch {
      refuse(message, from: client, because: error)
      return enter { $0.handleWaiting(of: client) }
    }
    guard next.isEmpty else { return enter { $0.goOn(next, of: message, from: client, work) } }
    client.send(.reply(to: message.id, .done))
    // Once the events that the last piece has posted are handled.
    enter { $0.handleWaiting(of: client) }
  }

  /// Keeps what a connection has sent, when an earlier request of it is still being carried out.
  func keepWaiting(_ item: Waiting, of client: any ServiceClient) -> Bool {
    guard clients[client.id]?.waiting != nil else { return false }
    clients[client.id]?.waiting?.append(item)
    return true
  }

  func handleWaiting(of client: any ServiceClient) {
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
