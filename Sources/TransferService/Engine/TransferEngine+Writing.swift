import DequeModule
import Dispatch
import TransferProtocol

/// Changes of the queue. The engine waits for none of them: it hands them to the store, which makes them in that order, and
/// goes on in a turn of its own when one is on the disk or has failed. These turns come in the same order, so what is in
/// memory follows the queue; that of new tasks may come later, since their journal is written in between.
extension TransferEngine {
  /// - Parameters:
  ///   - subject: No other change of it that asks `isChanging` begins meanwhile.
  ///   - begin: hands the change to the store, with the call that its end makes.
  ///   - then: a turn of its own, once the change is on the disk or has failed.
  func whenWritten<Value: Sendable>(
    changing subject: ChangeLines.Subject? = nil,
    _ begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void,
    then: @escaping @Sendable (TransferEngine, Result<Value, any Error>) -> Void
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    changesUnderWay += 1
    if let subject { changeLines.begin(subject) }
    begin { result in
      self.enter { engine in
        engine.changesUnderWay -= 1
        then(engine, result)
        if let subject { engine.endChange(of: subject) }
      }
    }
  }

  private func endChange(of subject: ChangeLines.Subject) {
    changeLines.end(subject)
    // First: the changes that have waited may be of sessions, too.
    if owesShortHistory { shortenHistory() }
    goOn(with: subject)
  }

  /// Does what follows the changes of the subject, and lets the first one that waits for it go on in a turn of its own.
  /// Requests that arrive before that turn come behind it.
  private func goOn(with subject: ChangeLines.Subject) {
    for work in changeLines.takeFollowing(subject) { work(self) }
    guard let next = changeLines.takeNext(subject) else { return }
    enter { engine in
      engine.changeLines.open(subject)
      next(engine)
      engine.changeLines.close(subject)
      engine.goOn(with: subject)
    }
  }

  /// A change that no request waits for.
  ///
  /// - Parameter failed: called when it could not be made.
  func write(
    _ begin: (@escaping @Sendable (Result<Void, any Error>) -> Void) -> Void,
    failed: @escaping @Sendable (TransferEngine, any Error) -> Void
  ) {
    whenWritten(begin) { engine, result in
      if case .failure(let error) = result { failed(engine, error) }
    }
  }

  /// Whether the request has to wait for changes of the subject: one that is being written, and those that wait already. It
  /// is handled anew then, and what the connection sends later waits with it.
  func isChanging(_ subject: ChangeLines.Subject, for message: ClientMessage, from client: any ServiceClient) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    guard changeLines.isBusy(subject) else { return false }
    clients[client.id]?.waiting = [.message(message)]
    changeLines.wait(for: subject) { $0.handleWaiting(of: client) }
    return true
  }

  /// Answers a request once the queue is written. What the connection sends later waits for it, since its requests are
  /// carried out in order. Where the queue can't be written the request is refused, and nothing has changed.
  ///
  /// - Parameter subject: see `whenWritten`.
  func answer<Value: Sendable>(
    _ message: ClientMessage, from client: any ServiceClient, changing subject: ChangeLines.Subject? = nil,
    when begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void,
    _ reply: @escaping @Sendable (TransferEngine, Value) throws -> ServiceReply
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    clients[client.id]?.waiting = Deque()
    whenWritten(changing: subject, begin) { engine, result in
      let answer = Result { try reply(engine, try result.get()) }
      // Once the events that this one has posted are handled, and before what the connection sends after the answer.
      engine.enter { $0.handleWaiting(of: client) }
      do { client.send(.reply(to: message.id, try answer.get())) } catch {
        engine.refuse(message, from: client, because: error)
      }
    }
  }
}
