/// Why a service ends so that another one goes on with its queue.
package enum Handover: Sendable, Equatable {
  /// Another process listens at the path of the socket, such as the user's service manager, which starts a service of its
  /// own.
  case anotherListens
  /// The lock of the queue was removed or replaced, so it keeps no other service from the queue.
  case lockIsGone
  /// An app needs a newer service, and an update has put another program in the place of this one.
  case programIsReplaced

  /// Whether what watches over this service has to start the next one. Otherwise the next one is there.
  package var needsSuccessor: Bool { self != .anotherListens }

  package var sentence: String {
    switch self {
    case .anotherListens: "another process listens on its socket, and its service goes on with the queue"
    case .lockIsGone: "the lock of the queue is gone"
    case .programIsReplaced: "an app needs a newer service, and the program on the disk has been replaced"
    }
  }
}

extension TransferEngine {
  /// Takes no more requests, so that this service ends and another one goes on from what is on the disk. May be called on
  /// any thread, and more than once.
  func handOver(_ reason: Handover) {
    enter { engine in
      guard engine.isServing else { return }
      engine.handover.withLock { $0 = reason }
      engine.stopServing()
    }
  }
}
