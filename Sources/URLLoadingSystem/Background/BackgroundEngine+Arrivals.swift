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
        guard let look = work.fileCheck else {
          create(work, fileProblem: nil)
          continue
        }
        isLookingAtFile = true
        NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) { look() }.whenComplete { result in
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

extension BackgroundWork {
  /// Looks at the file that the task needs, and returns why it can't be used; nil where the task needs none. Blocks.
  fileprivate var fileCheck: (@Sendable () -> URLError?)? {
    if case .download(let data) = task.resumption { return { data.fileProblem } }
    guard let url = fileToSend else { return nil }
    return { BackgroundTaskRules.problem(withFile: url) }
  }
}
