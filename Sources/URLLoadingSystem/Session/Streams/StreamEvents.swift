import Dispatch
import Foundation
import Synchronization

/// Tells a run loop when a captured socket can be read or written: once, and again after `rearm`, as streams do.
final class StreamEvents: Sendable {
  enum Direction: Sendable { case reading, writing }
  enum Event: Sendable { case opened, ready }

  /// Run loops may be given work from any thread; the action runs on the run loop's own.
  private struct Listener: @unchecked Sendable {
    let runLoop: RunLoop
    let mode: RunLoop.Mode
    let action: (Event) -> Void

    func tell(_ event: Event) {
      // A timer that is due wakes a run loop that waits; work that is merely queued does not.
      let timer = Timer(fire: Date(), interval: 0, repeats: false) { _ in action(event) }
      runLoop.add(timer, forMode: mode)
    }
  }

  private struct State {
    var listener: Listener?
    /// Whether the source waits for the socket now.
    var isArmed = false
    var isCancelled = false
  }

  /// Dispatch sources are safe on any thread.
  private struct Source: @unchecked Sendable { let source: any DispatchSourceProtocol }

  private let source: Source
  private let state = Mutex(State())

  init(_ socket: CapturedSocket, _ direction: Direction) {
    let queue = DispatchQueue(label: "captured stream")
    switch direction {
    case .reading:
      source = Source(source: DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue))
    case .writing:
      source = Source(source: DispatchSource.makeWriteSource(fileDescriptor: socket.descriptor, queue: queue))
    }
    // The descriptor must stay open until the source has let go of it.
    source.source.setCancelHandler { withExtendedLifetime(socket) {} }
    source.source.setEventHandler { [weak self] in self?.socketIsReady() }
  }

  deinit { cancel() }

  func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode, _ action: @escaping (Event) -> Void) {
    let listener = Listener(runLoop: runLoop, mode: mode, action: action)
    state.withLock { $0.listener = listener }
  }

  func opened() {
    state.withLock { $0.listener }?.tell(.opened)
    rearm()
  }

  /// The app has read or written: it wants to know of the next time.
  func rearm() {
    state.withLock { state in
      guard !state.isArmed, !state.isCancelled, state.listener != nil else { return }
      state.isArmed = true
      source.source.resume()
    }
  }

  func cancel() {
    state.withLock { state in
      guard !state.isCancelled else { return }
      state.isCancelled = true
      state.listener = nil
      source.source.cancel()
      // Dispatch does not release what is suspended.
      if !state.isArmed { source.source.resume() }
    }
  }

  private func socketIsReady() {
    let listener = state.withLock { state -> Listener? in
      guard state.isArmed, !state.isCancelled else { return nil }
      state.isArmed = false
      source.source.suspend()
      return state.listener
    }
    listener?.tell(.ready)
  }
}
