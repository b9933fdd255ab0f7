import Dispatch
import Foundation
import SystemServices

/// Copies of the queue, and damage that is found while it is in use.
extension TransferEngine {
  /// Lets this service end when the queue is damaged: the next one sets the queue aside and goes on with what can be
  /// saved. Statements fail on any thread.
  func watchQueue() {
    store.whenDamaged { [weak self] reason in
      self?.enter { $0.foundDamage(reason) }
    }
  }

  private func foundDamage(_ reason: String) {
    dispatchPrecondition(condition: .onQueue(queue))
    log.critical("the queue is damaged; the service ends, and the next one begins with what can be saved: \(reason)")
    // Waits for the disk: nothing more is served from this queue.
    do { try store.condemn(because: reason, date: clock.date) } catch {
      log.error("the next service has to find the damage by itself: \(error)")
    }
    stopServing()
  }

  /// Returns when damage that was found before this call is noted. Called before the queue is closed. Blocks.
  package func noteDamage() { queue.sync {} }

  /// Plans a copy, where none is planned. There are no changes without a turn that another thread begins, so a service
  /// without work makes no copies.
  func planCopy() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isServing, !timers.isSet(.copy) else { return }
    // A twentieth of the time at most, however long the queue is.
    setTimer(.copy, in: max(settings.copyInterval, copyDuration * 20)) { $0.copyQueue() }
  }

  /// The records of a service that was killed are as old as they are: one that ends again and again before a copy is due would never
  /// make one.
  func planFirstCopy() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let date = files.newTasks.oldestDate() else { return }
    let age = min(max(0, clock.date.timeIntervalSince(date)), settings.copyInterval)
    setTimer(.copy, in: settings.copyInterval - age) { $0.copyQueue() }
  }

  /// A file of the queue was removed or replaced: the copy has what it had, and this service ends. May be called on any thread, and
  /// more than once. A folder that is being removed with all that it has gets no copy.
  func fileOfQueueIsLost() {
    enter { engine in
      guard engine.isServing else { return }
      engine.setTimer(.copy, in: min(engine.settings.copyInterval, 1)) { $0.copyQueue() }
    }
  }

  private func copyQueue() {
    copyingQueue.async { [weak self, store, newTasks, log, clock] in
      let begin = clock.now
      do { try TransferEngine.copy(store, newTasks) } catch { log.warning("the queue was not copied: \(error)") }
      let duration = clock.now - begin
      // No turn: it would plan the next copy.
      guard let self else { return }
      queue.async { self.copyDuration = duration }
    }
  }

  /// - Parameter limit: A queue of more bytes is not copied.
  private static func copy(_ store: TransferStore, _ newTasks: NewTaskJournal, upTo limit: Int64 = .max) throws {
    try store.checkFolder()
    let next = newTasks.endFile()
    if try store.copyIfChanged(upTo: limit) { newTasks.forget(before: next) }
  }

  /// Copies the queue at the end of the service. Blocks.
  package func copyAtEnd(upTo limit: Int64) throws {
    try TransferEngine.copy(store, newTasks, upTo: limit)
    newTasks.drain()
  }

  /// Looks through a queue that was too long for that at the start of the service.
  func checkLongQueue() {
    copyingQueue.async { [store, settings, log] in
      do { try store.checkIfLonger(than: settings.longestCheckedQueue) } catch {
        log.warning("the queue was not looked through: \(error)")
      }
    }
  }
}
