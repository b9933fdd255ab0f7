import Foundation
import Synchronization

/// Threads on which files are copied: as many as `CopyLine` lets run, and none while there is nothing to copy. From any
/// thread.
final class CopyThreads: Sendable {
  typealias Job = @Sendable () -> Void

  private let line: Mutex<CopyLine<Job>>
  private let name: String

  init(name: String, limits: CopyLine<Job>.Limits = .init()) {
    self.name = name
    line = Mutex(CopyLine(limits: limits))
  }

  func run(at place: CopyLine<Job>.Place, _ job: @escaping Job) {
    let next = line.withLock { line in
      line.add(job, at: place)
      return line.next()
    }
    guard let next else { return }
    let thread = Thread { [self] in work(next) }
    thread.name = name
    thread.start()
  }

  /// Goes on with what waits, as long as some of it may run.
  private func work(_ first: (place: CopyLine<Job>.Place, job: Job)) {
    var next = first
    while true {
      next.job()
      let following = line.withLock { line in
        line.ended(at: next.place)
        return line.next()
      }
      guard let following else { return }
      next = following
    }
  }
}
