import Foundation

/// Threads on which files are copied: as many as `CopyLine` lets run. Each waits a second for further work before it ends, so
/// that many small files do not start a thread each, and none is there while there is nothing to copy. From any thread.
final class CopyThreads: @unchecked Sendable {
  typealias Job = @Sendable () -> Void
  private typealias Assignment = (place: CopyLine<Job>.Place, job: Job)

  // Sendable by hand: what follows is touched while `condition` is locked.
  private let condition = NSCondition()
  private var line: CopyLine<Job>
  /// Work that may run and is taken by a free thread.
  private var assigned: [Assignment] = []
  /// Threads without work: they wait for it, or are about to.
  private var freeThreads = 0
  /// Threads that were started and do not run yet, with the times of their starts. A machine may have no more threads, and tells
  /// nothing of it.
  private var starting: [Int: ContinuousClock.Instant] = [:]
  private var lastNumber = 0

  private let name: String
  private let patience: TimeInterval
  private let startPatience: Duration
  private let start: @Sendable (Thread) -> Void

  /// - Parameters:
  ///   - patience: Seconds for which a thread waits for further work.
  ///   - startPatience: A thread that does not run by then is not counted on.
  ///   - start: Starts a thread.
  init(
    name: String, limits: CopyLine<Job>.Limits = .init(), patience: TimeInterval = 1,
    startPatience: Duration = .seconds(1), start: @escaping @Sendable (Thread) -> Void = { $0.start() }
  ) {
    self.name = name
    self.patience = patience
    self.startPatience = startPatience
    self.start = start
    line = CopyLine(limits: limits)
  }

  /// - Parameter comesFirst: whether it passes all work that waits.
  func run(at place: CopyLine<Job>.Place, comesFirst: Bool = false, _ job: @escaping Job) {
    let number: Int? = condition.withLock {
      if comesFirst { line.addFirst(job, at: place) } else { line.add(job, at: place) }
      guard let next = line.next() else { return nil }
      assigned.append(next)
      let now = ContinuousClock.now
      starting = starting.filter { now - $0.value < startPatience }
      guard assigned.count > freeThreads + starting.count else {
        condition.signal()
        return nil
      }
      lastNumber += 1
      starting[lastNumber] = now
      return lastNumber
    }
    guard let number else { return }
    let thread = Thread { [self] in
      begins(number)
      while let place = runNext() { ended(at: place) }
    }
    thread.name = name
    start(thread)
  }

  private func begins(_ number: Int) {
    condition.withLock {
      starting[number] = nil
      freeThreads += 1
    }
  }

  /// Waits for work and does it. nil where none has come. Nothing of the work is kept while the next is waited for: it may
  /// have files open.
  private func runNext() -> CopyLine<Job>.Place? {
    guard let next = take() else { return nil }
    next.job()
    return next.place
  }

  private func take() -> Assignment? {
    condition.withLock {
      let end = Date() + patience
      while assigned.isEmpty, condition.wait(until: end) {}
      freeThreads -= 1
      return assigned.isEmpty ? nil : assigned.removeFirst()
    }
  }

  private func ended(at place: CopyLine<Job>.Place) {
    condition.withLock {
      line.ended(at: place)
      freeThreads += 1
      if let next = line.next() { assigned.append(next) }
    }
  }
}
