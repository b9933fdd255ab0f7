import Foundation

extension URLSession {
  /// Something that happened to a task of a session. Not part of Apple's API.
  public struct TransferEvent: Sendable {
    /// The event.
    public enum Kind: Sendable {
      /// The task was made, or an earlier process of the app had made it and the session has found it again.
      case created
      /// The task runs: it was started, or what it waited for is there.
      case running
      /// The task does not run, and why. Tasks of other sessions than background ones tell only that they wait for a network.
      case waiting(TransferWaitingReason)
      /// Bytes of its bodies have travelled.
      case progress(ByteCounts)
      /// The task is over and has succeeded. HTTP statuses are no failures. Its file was given to the delegate or the
      /// completion handler.
      case finished
      /// The task is over and has failed or was cancelled: its `error`.
      case failed(any Error)
    }

    /// The counters of a task, in bytes.
    public struct ByteCounts: Sendable, Hashable {
      /// Of the response's body.
      public let received: Int64
      /// Of the response's body; -1 while that is not known.
      public let expectedToReceive: Int64
      /// Of the request's body.
      public let sent: Int64
      /// Of the request's body; -1 while that is not known.
      public let expectedToSend: Int64

      /// Whether a byte has moved.
      var isProgress: Bool { received > 0 || sent > 0 }
    }

    /// The task that it happened to.
    public let task: URLSessionTask
    /// The event.
    public let kind: Kind
  }

  /// The events of a session's tasks from now on.
  ///
  /// Each sequence is one consumer, and has all events; several iterators of one sequence share them. A consumer that
  /// reads slowly keeps one place for each task: of several `progress` events the latest is left, and so it is with
  /// `running` and `waiting`; `created`, `finished` and `failed` are never left out. Events of a task come in the order of
  /// `created`, then the others, then its end. The sequence ends when the session has become invalid.
  public struct TransferEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = TransferEvent
    /// Iterating does not fail.
    public typealias Failure = Never

    let consumer: TransferEventConsumer

    /// Takes events off the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let consumer: TransferEventConsumer

      /// The next event, which is waited for. nil when the session has become invalid, and when the Swift task that waits is
      /// cancelled.
      public mutating func next() async -> TransferEvent? { await consumer.next() }
    }

    /// An iterator. It shares the events with other iterators of the same sequence.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(consumer: consumer) }
  }

  /// A new consumer of what happens to the session's tasks from now on: also to those that exist, which are not listed
  /// (`allTasks` lists them). Of any session; those of a background session say more. Events are made ready on threads of the
  /// library, about when the delegate is told of the same thing; the end of a task comes after the delegate was told. Tasks
  /// take a little longer while there are consumers. Not part of Apple's API.
  ///
  ///     for await event in session.transferEvents {
  ///       switch event.kind {
  ///       case .waiting(let reason): print(event.task.taskIdentifier, reason)
  ///       default: break
  ///       }
  ///     }
  public final var transferEvents: TransferEvents {
    let consumer = events.makeConsumer()
    for task in registry.outstanding() { task.hasConsumers() }
    return TransferEvents(consumer: consumer)
  }

  /// A task has come to be.
  func tellCreation(of task: URLSessionTask) {
    guard events.hasConsumers else { return }
    task.hasConsumers()
    events.send(.created, of: task)
  }
}

extension URLSessionTask {
  /// From now on its changes are told to the consumers of its session's events.
  func hasConsumers() { flags.bitwiseOr(TaskFlags.hasConsumers, ordering: .releasing) }

  /// Not to be called with a lock held.
  func tellConsumers(_ kind: () -> URLSession.TransferEvent.Kind) {
    guard flags.load(ordering: .acquiring) & TaskFlags.hasConsumers != 0,
      let session = lockedState.withLock({ $0.session })
    else { return }
    session.events.send(kind(), of: self)
  }

  var byteCounts: URLSession.TransferEvent.ByteCounts {
    .init(
      received: bytesReceived.load(ordering: .relaxed),
      expectedToReceive: bytesExpectedToReceive.load(ordering: .relaxed),
      sent: bytesSent.load(ordering: .relaxed), expectedToSend: bytesExpectedToSend.load(ordering: .relaxed))
  }
}
