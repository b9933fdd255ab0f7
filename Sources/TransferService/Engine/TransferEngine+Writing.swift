import DequeModule
import Dispatch
import TransferProtocol

/// Changes of the queue that the engine does not wait for. They are made in the order in which they are asked for.
extension TransferEngine {
  /// - Parameters:
  ///   - begin: hands the change to the store, with the call that its end makes.
  ///   - then: a turn of its own, once the change is on the disk or has failed.
  func whenWritten<Value: Sendable>(
    _ begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void,
    then: @escaping @Sendable (TransferEngine, Result<Value, any Error>) -> Void
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    changesUnderWay += 1
    begin { result in
      self.enter { engine in
        engine.changesUnderWay -= 1
        then(engine, result)
      }
    }
  }

  /// Answers a request once the queue is written. What the connection sends later waits for it, since its requests are
  /// carried out in order.
  func answer<Value: Sendable>(
    _ message: ClientMessage, from client: any ServiceClient,
    when begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void,
    _ reply: @escaping @Sendable (TransferEngine, Value) throws -> ServiceReply
  ) {
    clients[client.id]?.waiting = Deque()
    whenWritten(begin) { engine, result in
      do { client.send(.reply(to: message.id, try reply(engine, try result.get()))) } catch {
        engine.refuse(message, from: client, because: error)
      }
      // Once the events that this one has posted are handled.
      engine.enter { $0.handleWaiting(of: client) }
    }
  }
}
