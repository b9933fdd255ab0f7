import Foundation
import HTTPTransport
import NIOPosix

/// Keeps the order of what the app asks for while a file is looked at, which no loop may wait for.
extension BackgroundEngine {
  enum Arrival {
    case task(BackgroundWork)
    case flush(@Sendable () -> Void)
  }

  func arrived(_ arrival: Arrival) {
    assertConfined()
    arrivals.append(arrival)
    handleArrivals()
  }

  private func handleArrivals() {
    while !isLookingAtFile, let arrival = arrivals.popFirst() {
      switch arrival {
      case .flush(let completion): flush(then: completion)
      case .task(let work):
        guard case .download(let data) = work.task.resumption else {
          create(work, fileProblem: nil)
          continue
        }
        isLookingAtFile = true
        NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) { data.fileProblem }.whenComplete { result in
          self.isLookingAtFile = false
          self.create(work, fileProblem: try? result.get())
          self.handleArrivals()
        }
      }
    }
  }

  private func flush(then completion: @escaping @Sendable () -> Void) {
    guard !link.isEnded else { return completion() }
    flushWaiters.append(completion)
    perform(outbox.flush())
  }
}
