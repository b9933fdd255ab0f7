import Foundation

/// The operation queue of a session that was given none, as the place where its calls run.
///
/// `OperationQueue` wakes a thread for an operation while it holds a lock that the thread asks for: where the thread is faster,
/// both wait for each other in turn. So the dispatch queue beneath it is held until the operation was added, and the thread is
/// woken then. It is a serial queue, for which Dispatch wakes one thread; for the concurrent one that `OperationQueue` makes
/// by itself, it mostly wakes a second one, in vain.
final class OwnDeliveryQueue: DeliveryTarget {
  let operations = OperationQueue()
  private let threads = DispatchQueue(label: "URLSession delegate queue")

  init() {
    operations.name = threads.label
    operations.maxConcurrentOperationCount = 1
    operations.underlyingQueue = threads
  }

  func run(_ block: @escaping @Sendable () -> Void) {
    threads.suspend()
    operations.addDelivery(block)
    threads.resume()
  }

  var hasOtherWork: Bool { operations.hasOtherWork }

  var isSuspended: Bool { operations.isSuspended }
}
