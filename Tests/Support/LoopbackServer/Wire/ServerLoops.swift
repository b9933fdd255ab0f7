import NIOCore
import NIOPosix

/// The event loops every loopback server of the process shares. They are not the process-wide NIO group, so that a
/// library under test that blocks its own loops does not silence the server, and they never end.
///
/// A connection's script runs on its own loop through a task executor: a test that blocks the cooperative thread pool
/// (which has but one thread a core) cannot stop the server it waits for.
enum ServerLoops {
  static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

  private static let executors: [ObjectIdentifier: LoopTaskExecutor] = Dictionary(
    uniqueKeysWithValues: group.makeIterator().map { (ObjectIdentifier($0), LoopTaskExecutor(loop: $0)) })

  static func executor(of loop: any EventLoop) -> (any TaskExecutor)? {
    executors[ObjectIdentifier(loop)]
  }
}

private final class LoopTaskExecutor: TaskExecutor {
  let loop: any EventLoop

  init(loop: any EventLoop) {
    self.loop = loop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
