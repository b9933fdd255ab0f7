import Foundation
import Glibc
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// The messages that a delegate of a connection or a download is told, and whether they came on the right thread or
/// queue. Base of the delegates of these tests.
class ConnectionLog: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind locks.

  let events = Recorder<String>()
  /// Messages that came elsewhere than they should.
  let strays = Recorder<String>()
  let received = Mutex(Data())
  let errors = Recorder<URLError>()
  let done = Gate()
  private let place = Mutex<(@Sendable () -> Bool)?>(nil)

  /// Messages are to come on this thread from now on.
  func expectThisThread() {
    let thread = pthread_self()
    place.withLock { $0 = { pthread_equal(pthread_self(), thread) != 0 } }
  }

  func expect(_ queue: OperationQueue) { place.withLock { $0 = { OperationQueue.current === queue } } }

  func note(_ event: String) {
    events.record(event)
    if let isRight = place.withLock({ $0 }), !isRight() { strays.record(event) }
  }

  func end(_ event: String) {
    note(event)
    done.open()
  }

  func fail(_ error: any Error) {
    if let error = error as? URLError { errors.record(error) }
    end("failed \((error as? URLError)?.code.rawValue ?? 0)")
  }

  /// The messages, without repeats of the same one in a row.
  var summary: [String] { events.all.reduce(into: []) { if $0.last != $1 { $0.append($1) } } }

  var text: String { received.withLock { String(decoding: $0, as: UTF8.self) } }
}

/// Runs `begin`, and then the run loop, on a thread of its own, as apps wait for a connection: until the delegate was
/// told of the end, or nothing is scheduled in the mode any more.
func onRunLoop(
  _ log: ConnectionLog, mode: RunLoop.Mode = .default, _ begin: @escaping @Sendable () -> Void
) async throws {
  let isOver = Gate()
  Thread.detachNewThread {
    log.expectThisThread()
    begin()
    while !log.done.isOpen, RunLoop.current.run(mode: mode, before: .distantFuture) {}
    isOver.open()
  }
  try await isOver.wait(within: patience)
}
