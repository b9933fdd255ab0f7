import Foundation
import Synchronization
import SystemServices

/// Threads on which files are copied and looked at: as many as `CopyLine` lets run. Each waits a second for further work before
/// it ends, so that many small files do not start a thread each, and none is there while there is nothing to do. From any
/// thread.
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
  private let later: @Sendable (Duration, @escaping Job) -> Void

  /// - Parameters:
  ///   - patience: Seconds for which a thread waits for further work.
  ///   - startPatience: A thread that does not run by then is not counted on, and another one is started in its place.
  ///   - start: Starts a thread.
  ///   - later: Calls a closure when that time has passed.
  init(
    name: String, limits: CopyLine<Job>.Limits = .init(), patience: TimeInterval = 1,
    startPatience: Duration = .seconds(1), start: @escaping @Sendable (Thread) -> Void = { $0.start() },
    later: @escaping @Sendable (Duration, @escaping Job) -> Void = CopyThreads.call
  ) {
    self.name = name
    self.patience = patience
    self.startPatience = startPatience
    self.start = start
    self.later = later
    line = CopyLine(limits: limits)
  }

  /// - Parameter comesFirst: whether it passes all work that waits and does not come first.
  /// - Returns: the number with which it is withdrawn.
  @discardableResult
  func run(at place: CopyLine<Job>.Place, comesFirst: Bool = false, _ job: @escaping Job) -> Int {
    let (own, numbers) = condition.withLock {
      let own = comesFirst ? line.addFirst(job, at: place) : line.add(job, at: place)
      if let next = line.next() {
        assigned.append(next)
        condition.signal()
      }
      // The places may be given to work whose threads could not be started.
      let now = ContinuousClock.now
      starting = starting.filter { now - $0.value < startPatience }
      return (own, missingThreads(now))
    }
    startThreads(numbers)
    return own
  }

  /// Gives back at once all that a piece of work holds that has no place yet. Does nothing to another one.
  func withdraw(_ number: Int) {
    let job = condition.withLock { line.remove(number) }
    // It ends here, outside of the lock: what it holds may end with it.
    withExtendedLifetime(job) {}
  }

  /// Runs work that is not waited for without end.
  ///
  /// Work that is past its limit keeps its place until it returns. Where it still waits for a place, it does not run.
  ///
  /// - Parameters:
  ///   - limit: from now on; the wait for a place counts.
  ///   - work: is given a question that it may ask before it does what can't be taken back: whether its result is still awaited.
  ///   - ended: called once, on any thread, with what `work` returns or throws, or with `BlockingCalls.Expired`. It must not
  ///     block.
  func call<Value: Sendable>(
    at place: CopyLine<Job>.Place, within limit: Duration,
    _ work: @escaping @Sendable (_ isAwaited: @escaping @Sendable () -> Bool) throws -> Value,
    ended: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let answer = Answer(ended)
    let number = run(at: place) {
      // It may have been given a place just before its limit.
      guard answer.isAwaited else { return }
      answer.give(Result { try work { answer.isAwaited } })
    }
    later(limit) { [self] in
      if answer.give(.failure(BlockingCalls.Expired(limit: limit))) { withdraw(number) }
    }
  }

  /// The one call of a closure. It is kept no longer than until then.
  private final class Answer<Value: Sendable>: Sendable {
    private let ended: Mutex<(@Sendable (Result<Value, any Error>) -> Void)?>

    init(_ ended: @escaping @Sendable (Result<Value, any Error>) -> Void) { self.ended = Mutex(ended) }

    var isAwaited: Bool { ended.withLock { $0 != nil } }

    /// False where it was called before.
    @discardableResult
    func give(_ result: Result<Value, any Error>) -> Bool {
      let ended = ended.withLock { ended in
        defer { ended = nil }
        return ended
      }
      ended?(result)
      return ended != nil
    }
  }

  /// The numbers of the threads that are to be started, so that each piece of work that may run has one. While `condition` is
  /// locked.
  private func missingThreads(_ now: ContinuousClock.Instant) -> [Int] {
    let count = assigned.count - freeThreads - starting.count
    guard count > 0 else { return [] }
    return (0..<count).map { _ in
      lastNumber += 1
      starting[lastNumber] = now
      return lastNumber
    }
  }

  private func startThreads(_ numbers: [Int]) {
    for number in numbers {
      let thread = Thread { [self] in
        begins(number)
        while let place = runNext() { ended(at: place) }
      }
      thread.name = name
      start(thread)
      later(startPatience) { [self] in startAgain(number) }
    }
  }

  /// Starts others where that thread does not run: no further work may come that would do so.
  private func startAgain(_ number: Int) {
    startThreads(
      condition.withLock { starting.removeValue(forKey: number) == nil ? [] : missingThreads(.now) })
  }

  private static let timers = DispatchQueue(label: "transfer-service.copy-threads")

  private static func call(after pause: Duration, _ job: @escaping Job) {
    timers.asyncAfter(deadline: .now() + pause / .seconds(1), execute: job)
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
