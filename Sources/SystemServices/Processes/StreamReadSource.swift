import CLinux
import Dispatch
import Glibc

/// Sources of Dispatch for sockets and pipes, whose other end may go.
///
/// Dispatch handles that end (EPOLLHUP) on one thread, and lets go of the descriptor on another one as soon as the handler has
/// cancelled the source: the first may go on with memory that the second has freed. A set of epoll(7) is readable while
/// the descriptor in it is, or has ended, and never ends itself.
package enum StreamReadSource {
  /// A source that is not resumed yet. It closes the descriptor when it is cancelled. A process that has no more
  /// descriptors gets one without a set.
  package static func make(_ descriptor: Int32, queue: DispatchQueue) -> sending any DispatchSourceRead {
    let set = clinux_watch_reading(descriptor)
    let source = DispatchSource.makeReadSource(fileDescriptor: set >= 0 ? set : descriptor, queue: queue)
    source.setCancelHandler {
      if set >= 0 { close(set) }
      close(descriptor)
    }
    return source
  }
}
