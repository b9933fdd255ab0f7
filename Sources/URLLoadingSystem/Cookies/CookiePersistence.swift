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
  private let view = Mutex(View())
  private let isWriteScheduled = Atomic<Bool>(false)
  private let othersChange = Mutex<(@Sendable () -> Void)?>(nil)

  /// The state of the file, as far as it is known without touching the disk.
  private struct View {
    var isRead = false
    /// Counted up by each process that has written; nil while there is no file.
    var counter: SharedCounter?
    var seen: UInt64 = 0
    /// When to look again whether another process has made the file.
    var nextLook = DispatchTime.now()
  }

  /// A moment in which the cookies of further responses are changed, so that they are written together.
  private static let writeDelay = DispatchTimeInterval.milliseconds(100)
  private static let lookInterval = DispatchTimeInterval.seconds(1)

  init(directory: String, jar: LockedCookieJar) {
    self.jar = jar
    path = directory + "/" + CookieFile.name
    file = CookieFile(directory: directory, queue: queue)
  }

  /// Calls `action` on a queue of its own whenever other processes have changed cookies, as soon as this is noticed.
  func whenOthersChange(_ action: @escaping @Sendable () -> Void) { othersChange.withLock { $0 = action } }

  /// Whether the jar has what is on the disk. Reads a number that is in the kernel's memory, and waits for no disk.
  var isCurrent: Bool {
    let (isCurrent, isTimeToLook) = view.withLock { view -> (Bool, Bool) in
      guard view.isRead else { return (false, false) }
      if let counter = view.counter { return (counter.value == view.seen, false) }
      let now = DispatchTime.now()
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
      readNow()
      action()
    }
  }

  func readAndWait() { queue.sync { readNow() } }

  private func readNow() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isUpToDate else { return }
    // The number of before: a change that comes meanwhile is seen next time.
    let before = file.counter?.value
    let changes = file.read()
    let counter = file.counter
    if let changes {
      let isChanged = jar.withLock {
        $0.merge(changes.entries, removed: changes.removed, isAll: changes.isAll, at: Date())
      }
      if isChanged, view.withLock({ $0.isRead }), let action = othersChange.withLock({ $0 }) {
        DispatchQueue.global().async(execute: action)
      }
    }
    view.withLock {
      $0.isRead = true
      $0.counter = counter
      $0.seen = before ?? 0
    }
  }

  private var isUpToDate: Bool {
    view.withLock { $0.isRead && $0.counter.map { [seen = $0.seen] in $0.value == seen } == true }
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
    guard file.write(changes, all: { jar.withLock { $0.persistentEntries } }) else {
      // Tried again with the next change.
      jar.withLock { $0.putBack(changes.keys) }
      return
    }
    view.withLock { view in
      guard let counter = file.counter else { return }
      view.counter = counter
      // Changes of another process in between are still to be read.
      guard let before = try? counter.increment(), before == view.seen &+ 1 else { return }
      view.seen &+= 2
    }
  }
}
