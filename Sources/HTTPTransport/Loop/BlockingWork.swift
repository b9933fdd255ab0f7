import NIOPosix

/// Threads for work that may block for long. The process-wide pool has a thread a core, and disk work is done there:
/// a slow resolver or an app's stream that waits for data must not keep it from running.
package enum BlockingWork {
  /// For `getaddrinfo`, which waits for name servers that may be gone. A name takes two. More where they take long.
  package static let lookups = BlockingLanes(limit: 64)
  /// For questions to the DNS that no connection waits for.
  package static let records = BlockingLanes(limit: 4, most: 8)
  /// For asking systemd-resolved how long answers hold that are already given. No lookup waits for it.
  package static let times = BlockingLanes(limit: 1, patience: .hours(1), most: 1, kept: 0)
  /// For loads that are on no thread of a loop yet, where no other thread runs them. They may call observers of the app, which may
  /// wait for what they like.
  package static let inlineLoads = BlockingLanes(limit: 4, most: 64, kept: 1)
  /// For finding out which network leads to an address.
  package static let networks = started(threads: 4)
  /// For finding out about proxies: scripts and desktops may take their time.
  package static let proxies = started(threads: 4)
  /// For the app's input streams, which may wait for data that another load of this process brings.
  package static let streams = started(threads: 64)
  /// For the methods of stores (caches, cookies, credentials) of the app's own classes, which may wait for what they like.
  package static let stores = started(threads: 64)

  /// Called where a file is about to be read or a process started: debug builds stop when that is on an event loop.
  package static func assertMayBlock() {
    assert(MultiThreadedEventLoopGroup.currentEventLoop == nil, "This may block, and runs on an event loop.")
  }

  /// Runs `work`, which reads or writes files, on a thread of the process-wide pool. For callers without a loop of their
  /// own; others use `EventLoop.blocking`.
  package static func files<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await NIOThreadPool.singleton.runIfActive(work)
  }

  private static func started(threads: Int) -> NIOThreadPool {
    let pool = NIOThreadPool(numberOfThreads: threads)
    pool.start()
    return pool
  }
}
