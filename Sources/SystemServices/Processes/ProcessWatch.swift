import CLinux
import Dispatch
import Foundation
import Synchronization

/// Waits for the end of a process that is no child of ours: pidfd_open(2). It costs no processor time meanwhile.
///
/// May be used from any thread. The watch ends when it is released.
package final class ProcessWatch: Sendable {
  private struct State {
    var source: (any DispatchSourceProtocol)?
  }

  private let state = Mutex(State())

  /// How often the process is looked at where the kernel has no descriptors of processes (before Linux 5.3), in seconds.
  private static let interval = 10

  /// nil when the process has ended already.
  /// - Parameter ended: called once, on a queue of its own.
  package init?(_ process: ProcessIdentity, _ ended: @escaping @Sendable () -> Void) {
    let descriptor = clinux_open_process(process.pid)
    // Looked at only now: a process that gets the number later is another one.
    guard process.isAlive else {
      if descriptor >= 0 { close(descriptor) }
      return nil
    }
    let check: @Sendable () -> Void = { [weak self] in
      // A descriptor tells the end of the process itself, so its remains need not be looked at.
      guard descriptor >= 0 || !process.isAlive, let self, self.stop() else { return }
      ended()
    }
    state.withLock {
      $0.source =
        descriptor >= 0 ? ProcessWatch.makeReader(descriptor, check) : ProcessWatch.makeTimer(check)
    }
  }

  deinit { stop() }

  /// Returns whether it was still watching.
  @discardableResult
  private func stop() -> Bool {
    state.withLock { state in
      defer { state.source = nil }
      state.source?.cancel()
      return state.source != nil
    }
  }

  private static let queue = DispatchQueue(label: "process-watch")

  private static func makeReader(
    _ descriptor: Int32, _ check: @escaping @Sendable () -> Void
  ) -> sending any DispatchSourceProtocol {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler(handler: check)
    source.setCancelHandler { close(descriptor) }
    source.resume()
    return source
  }

  private static func makeTimer(_ check: @escaping @Sendable () -> Void) -> sending any DispatchSourceProtocol {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler(handler: check)
    timer.schedule(deadline: .now() + .seconds(interval), repeating: .seconds(interval), leeway: .seconds(1))
    timer.resume()
    return timer
  }
}
