import Foundation
import Synchronization
import SystemServices

/// Keeps a jar and its file alike: reads what this and other processes have written, writes what was changed here.
/// Everything that touches the disk runs on one queue.
final class CookiePersistence: Sendable {
  private let queue = DispatchQueue(label: "HTTPCookieStorage disk", qos: .utility)
  private let jar: LockedCookieJar
  private let path: String
  /// Confined to `queue`.
  private let file: CookieFile
  /// The writes that have failed one after the other.
  private let failedWrites = Atomic<Int>(0)
  private let isRetryScheduled = Atomic<Bool>(false)
  private let view = Mutex(View())
  private let isWriteScheduled = Atomic<Bool>(false)
  private let othersChange = Mutex<(@Sendable () -> Void)?>(nil)

  /// The state of the file, as far as it is known without touching the disk.
  private struct View {
    var isRead = false
    /// Counted up by each process that has written; nil while there is no file.
    var counter: SharedCounter?
    var seen: UInt64 = 0
    /// When the counter was last found to be what was seen, in nanoseconds.
    var lastWithoutNews: UInt64 = 0
    /// Whether the last try to read has failed.
    var hasFailed = false
    /// When to look again whether another process has made the file, or after a failure whether it can be read.
    var nextLook = DispatchTime.now()

    /// Whether a file that could not be read is left alone for a moment.
    var isPausing: Bool { hasFailed && DispatchTime.now() < nextLook }
  }

  /// A moment in which the cookies of further responses are changed, so that they are written together.
  private static let writeDelay = DispatchTimeInterval.milliseconds(100)
  private static let lookInterval = DispatchTimeInterval.seconds(1)
  /// A write that fails is tried again after twice this, four times, and so on: in all for about a minute.
  private static let retryDelay = 100
  private static let mostRetries = 8

  init(directory: String, jar: LockedCookieJar) {
    self.jar = jar
    path = directory + "/" + CookieFile.name
    file = CookieFile(directory: directory, queue: queue)
  }

  /// Calls `action` on a queue of its own whenever other processes have changed cookies, as soon as this is noticed.
  func whenOthersChange(_ action: @escaping @Sendable () -> Void) { othersChange.withLock { $0 = action } }

  /// Whether the jar has what is on the disk, as far as that can be read. Reads a number that is in the kernel's memory,
  /// and waits for no disk.
  /// - Parameter age: How long ago, in nanoseconds, another process may have written without being noticed.
  func isCurrent(unnoticed age: UInt64 = 0) -> Bool {
    let (isCurrent, isTimeToLook) = view.withLock { view -> (Bool, Bool) in
      if view.hasFailed { return (view.isPausing, false) }
      guard view.isRead else { return (false, false) }
      let now = DispatchTime.now()
      if let counter = view.counter {
        if now.uptimeNanoseconds &- view.lastWithoutNews < age { return (true, false) }
        guard counter.value == view.seen else { return (false, false) }
        view.lastWithoutNews = now.uptimeNanoseconds
        return (true, false)
      }
      guard now >= view.nextLook else { return (true, false) }
      view.nextLook = now + CookiePersistence.lookInterval
      return (true, true)
    }
    if isTimeToLook {
      queue.async { [self] in
        if access(path, F_OK) == 0 { readNow() }
      }
    }
    return isCurrent
  }

  // MARK: Reading

  func read(then action: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      if !isPausing { readNow() }
      action()
    }
  }

  func readAndWait() {
    queue.sync {
      if !isPausing { readNow() }
    }
  }

  private var isPausing: Bool { view.withLock { $0.isPausing } }

  private func readNow() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isUpToDate else { return }
    // The number of before: a change that comes meanwhile is seen next time.
    let before = file.counter?.value
    let changes: CookieFile.Changes?
    do {
      changes = try file.read()
    } catch {
      view.withLock {
        $0.hasFailed = true
        $0.nextLook = .now() + CookiePersistence.lookInterval
      }
      return
    }
    let counter = file.counter
    let isDamaged = file.takeDamage()
    let (isChanged, hasMoreToWrite) = jar.withLock { jar -> (Bool, Bool) in
      let count = jar.changeCount
      if isDamaged { jar.noteLoss() }
      let isChanged =
        changes.map { jar.merge($0.entries, removed: $0.removed, isAll: $0.isAll, at: Date()) } ?? false
      return (isChanged, jar.changeCount > count)
    }
    if isChanged, view.withLock({ $0.isRead }), let action = othersChange.withLock({ $0 }) {
      DispatchQueue.global().async(execute: action)
    }
    view.withLock {
      $0.isRead = true
      $0.hasFailed = false
      $0.counter = counter
      $0.seen = before ?? 0
    }
    // Cookies that were lost with a damaged file, or came back although they were removed here.
    if hasMoreToWrite { writeSoon() }
  }

  private var isUpToDate: Bool {
    view.withLock { $0.isRead && !$0.hasFailed && $0.counter.map { [seen = $0.seen] in $0.value == seen } == true }
  }

  // MARK: Writing

  /// Writes what has changed, a moment later.
  func writeSoon() {
    guard !isWriteScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.asyncAfter(deadline: .now() + CookiePersistence.writeDelay) { [self] in writeNow() }
  }

  /// Writes what has changed at once.
  func write(then action: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      writeNow()
      action()
    }
  }

  private func writeNow() {
    dispatchPrecondition(condition: .onQueue(queue))
    isWriteScheduled.store(false, ordering: .releasing)
    guard jar.withLock({ $0.hasChanges }) else { return }
    // So that what was damaged is found before anything is taken from the jar.
    readNow()
    let changes = jar.withLock { $0.takeChanges() }
    guard !changes.isEmpty else { return }
    guard let written = file.write(changes, all: { jar.withLock { $0.persistentEntries } }) else {
      jar.withLock { $0.putBack(changes.keys) }
      return writeAgain()
    }
    failedWrites.store(0, ordering: .relaxed)
    guard let counter = file.counter else { return }
    // Counting may wait for another process, and loops take the lock of `view`.
    let counts = [written.count, try? counter.increment()].compactMap { $0 }
    view.withLock {
      $0.counter = counter
      // Changes of another process in between are still to be read.
      $0.seen = counts.reduce($0.seen) { $1.following($0) }
    }
  }

  /// Tries a write again that has failed, later each time. After the last try the next change begins anew.
  private func writeAgain() {
    guard !isRetryScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let failed = failedWrites.wrappingAdd(1, ordering: .relaxed).newValue
    guard failed <= CookiePersistence.mostRetries else {
      failedWrites.store(0, ordering: .relaxed)
      return isRetryScheduled.store(false, ordering: .releasing)
    }
    queue.asyncAfter(deadline: .now() + .milliseconds(CookiePersistence.retryDelay << failed)) { [self] in
      isRetryScheduled.store(false, ordering: .releasing)
      writeNow()
    }
  }
}
