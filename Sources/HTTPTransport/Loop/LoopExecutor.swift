import NIOCore
import NIOPosix

/// Runs Swift tasks on a NIO event loop, so that a load is straight-line `async` code without a thread hop.
package final class LoopExecutor: TaskExecutor {
  package let loop: any EventLoop
  package let sweeper: DeadlineSweeper

  package init(loop: any EventLoop) {
    self.loop = loop
    sweeper = DeadlineSweeper(loop: loop)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// One executor for each loop of the process-wide group, in the group's order.
  package static let all: [LoopExecutor] = MultiThreadedEventLoopGroup.singleton.makeIterator().map {
    LoopExecutor(loop: $0)
  }
}
