import Foundation

/// How the worker before this one ended, as its supervisor saw it. The next worker is told by an argument.
package enum WorkerEnd: String, Sendable {
  /// By a signal of another process, where it did not hang and no memory was short: no transfer is the cause.
  case killed
  /// By what it did, as far as is known.
  case crashed

  /// - Parameters:
  ///   - signal: nil where it ended by itself.
  ///   - hung: whether its supervisor ended it, since it gave no sign of life.
  ///   - ranOutOfMemory: whether the kernel has ended a process of its group for want of memory; nil where that is not known.
  package init(signal: Int32?, hung: Bool, ranOutOfMemory: Bool?) {
    self =
      switch signal {
      case nil: .crashed
      case _ where hung: .crashed
      case SIGKILL: ranOutOfMemory == false ? .killed : .crashed
      case SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM: .killed
      default: .crashed
      }
  }
}
