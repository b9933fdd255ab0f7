import Dispatch
import Foundation
import Logging
import Synchronization
import SystemServices
import TransferProtocol

/// Writes down each new task a second time, beside the queue, until the queue is copied, and each change of a task that its app or a
/// person was told of: a task that was created or changed since the last copy outlives the file of the queue.
///
/// The records are appended to a file of the folder `enqueued`, and those that wait at the same time wait for the disk once.
/// A copy of the queue that has been begun after a file was ended has all that the file has, so the file is removed then. A
/// record that can't be written is tried again for some seconds, in which the answer waits: a disk that is full for a moment
/// would else leave a task in the queue alone. After that it keeps no task from being created: it is a second one, and is written
/// with the next one, or before the next copy. Callable from any thread.
final class NewTaskJournal: Sendable {
  private struct Entry: Sendable {
    let content: @Sendable () throws -> Data
    let isAwaited: Bool
    var written: @Sendable () -> Void = {}
  }

  private struct File {
    let number: Int
    let file: any DurableFile
    var length: Int64 = 0
  }

  private let folder: NewTaskFolder
  private let store: TransferStore
  private let log: Logger
  private let queue = DispatchQueue(label: "transfer-service.new-tasks", qos: .utility)
  private let waiting = Mutex<[Entry]>([])
  /// The file that records are appended to; nil until there is one. Only used on the queue.
  private let current = Mutex<File?>(nil)
  /// Records, and whether the disk is waited for.
  private struct Batch {
    var content = Data()
    var isAwaited = false
  }

  /// Records that could not be written. Only used on the queue.
  private let unwritten = Mutex(Batch())
  /// New tasks that wait for their records.
  private struct Waits {
    var tasks: [(end: DispatchTime, written: @Sendable () -> Void)] = []
    /// Whether the next try is planned.
    var isTrying = false
    /// Whether tasks have waited in vain: no other one does before the disk takes something.
    var areInVain = false
  }

  /// Only used on the queue.
  private let waits = Mutex(Waits())
  /// How long they wait.
  private let patience: Mutex<TimeInterval>
  /// Until the next try.
  private static let pause: TimeInterval = 0.2
  /// Called on the queue when records could not be written.
  private let failed = Mutex<(@Sendable (any Error) -> Void)?>(nil)
  /// More bytes of them are not kept in memory.
  private static let mostUnwritten = 8 << 20

  /// - Parameter patience: for how many seconds a new task waits for its record.
  init(store: TransferStore, files: TransferFiles, log: Logger, patience: TimeInterval) {
    folder = files.newTasks
    self.store = store
    self.log = log
    self.patience = Mutex(patience)
  }

  func watchFailures(_ failed: @escaping @Sendable (any Error) -> Void) { self.failed.withLock { $0 = failed } }

  /// The disk may take records that it refused before.
  func writeAgain() { queue.async { self.write([]) } }

  /// - Parameters:
  ///   - tasks: tasks of the session that are in the queue, with their numbers.
  ///   - written: called once, on another thread, when the records are on the disk, or could not be written for as long as
  ///     `patience` says; at once where there is nothing to write.
  func add(
    _ tasks: [(new: TransferStore.NewTransfer, id: TransferID)], of session: SessionID, at date: Date,
    written: @escaping @Sendable () -> Void
  ) {
    guard !tasks.isEmpty else { return written() }
    let store = self.store
    let content: @Sendable () throws -> Data = {
      guard let session = try store.sessionOfNewTask(session) else { return Data() }
      return try NewTaskRecord.encode(tasks, of: session, at: date)
    }
    append([Entry(content: content, isAwaited: true, written: written)])
  }

  /// Tasks that are over for their apps, so that they neither begin again nor are told once more in a queue that is made anew.
  /// Not waited for.
  func ended(_ ids: [TransferID]) {
    guard !ids.isEmpty else { return }
    append([Entry(content: { NewTaskRecord.encode(ended: ids) }, isAwaited: false)])
  }

  /// Changes that are in the queue, in their order. Blocks for as long as one of them has to wait.
  func changed(_ changes: [RecordedChange]) {
    let wait = changes.map(\.awaits).max() ?? .nothing
    let entries = changes.map { change in
      Entry(content: { try NewTaskRecord.encode(change.content()) }, isAwaited: change.awaits == .thePowerFails)
    }
    guard wait > .nothing else { return append(entries) }
    // Those of earlier changes are before these: they have their turn on the queue.
    queue.sync { write(entries) }
  }

  /// Ends the file. Returns the number of the next one: a copy of the queue that begins now has what those before have.
  func endFile() -> Int {
    queue.sync {
      write([])
      closeFile()
      makeSpare()
      return (try? folder.numbers().last).map { $0 + 1 } ?? 1
    }
  }

  /// The queue was copied.
  func forget(before number: Int) {
    queue.async { [folder, log] in
      do { try folder.remove(before: number) } catch { log.warning("records of new tasks were not removed: \(error)") }
    }
  }

  /// The service ends: from now on no task waits for its record.
  func stopWaiting() {
    patience.withLock { $0 = 0 }
    queue.async { self.release() }
  }

  /// Returns when all that was added before is written, or could not be. Blocks.
  func drain() { queue.sync {} }

  // MARK: On the queue

  private func append(_ new: [Entry]) {
    // With the lock: what is added later has its turn later.
    waiting.withLock { entries in
      entries += new
      if entries.count == new.count { queue.async { self.writeWaiting() } }
    }
  }

  private func writeWaiting() {
    let entries = waiting.withLock { entries in
      defer { entries = [] }
      return entries
    }
    write(entries)
    let isUnwritten = unwritten.withLock { !$0.content.isEmpty }
    let mayWait = patience.withLock { $0 } > 0 && waits.withLock { !$0.areInVain }
    let isHeld = isUnwritten && mayWait
    for entry in entries where !isHeld || !entry.isAwaited { entry.written() }
    if isHeld { hold(entries.filter(\.isAwaited).map(\.written)) }
  }

  private func hold(_ written: [@Sendable () -> Void]) {
    guard !written.isEmpty else { return }
    let end = DispatchTime.now() + patience.withLock { $0 }
    let isFirst = waits.withLock { waits in
      defer { waits.isTrying = true }
      waits.tasks += written.map { (end, $0) }
      return !waits.isTrying
    }
    if isFirst { planTry() }
  }

  private func planTry() {
    queue.asyncAfter(deadline: .now() + NewTaskJournal.pause) { [weak self] in self?.tryAgain() }
  }

  private func tryAgain() {
    dispatchPrecondition(condition: .onQueue(queue))
    if waits.withLock({ !$0.tasks.isEmpty }) { write([], isFirstTry: false) }
    let now = DispatchTime.now()
    let (late, isLast) = waits.withLock { waits in
      let late = waits.tasks.filter { $0.end <= now }
      waits.tasks.removeAll { $0.end <= now }
      if !late.isEmpty { waits.areInVain = true }
      waits.isTrying = !waits.tasks.isEmpty
      return (late, waits.tasks.isEmpty)
    }
    for task in late { task.written() }
    if !isLast { planTry() }
  }

  private func release() {
    dispatchPrecondition(condition: .onQueue(queue))
    let tasks = waits.withLock { waits in
      defer { waits.tasks = [] }
      return waits.tasks
    }
    for task in tasks { task.written() }
  }

  /// Those that could not be written before come first.
  private func write(_ entries: [Entry], isFirstTry: Bool = true) {
    dispatchPrecondition(condition: .onQueue(queue))
    var batch = unwritten.withLock { unwritten in
      defer { unwritten = Batch() }
      return unwritten
    }
    for entry in entries {
      do {
        batch.content.append(try entry.content())
        // The end of a task needs no disk: at worst the task is there again.
        batch.isAwaited = batch.isAwaited || entry.isAwaited
      } catch { log.warning("a new task or a change is in the queue alone until it is copied: \(error)") }
    }
    guard !batch.content.isEmpty else { return }
    // Those are on the disk: a queue that has fewer has lost the rest.
    if let count = store.database.lastRecordedChanges { batch.content.append(NewTaskRecord.encode(count: count)) }
    let complete = batch
    do {
      try writeWhereThereIsRoom(complete)
      waits.withLock { $0.areInVain = false }
      release()
    } catch {
      dropEnd(because: error)
      if isFirstTry { failed.withLock { $0 }?(error) }
      guard complete.content.count <= NewTaskJournal.mostUnwritten else {
        log.warning("new tasks and changes are in the queue alone until it is copied: \(error)")
        return release()
      }
      if isFirstTry {
        log.warning("new tasks and changes are in the queue alone until there is room, or it is copied: \(error)")
      }
      unwritten.withLock { $0 = complete }
    }
  }

  /// On a full disk the queue itself may have had room in its log. The records have that of the spare file, then of the reserve;
  /// ends alone have neither.
  private func writeWhereThereIsRoom(_ batch: Batch) throws {
    do { try write(batch) } catch let error where batch.isAwaited && SpaceShortage.isCause(of: error) {
      dropEnd(because: error)
      if (try? folder.hasSpare()) == true { closeFile() }
      try store.makingRoom { try write(batch) }
    }
  }

  private func write(_ batch: Batch) throws {
    // Records in a file without a name are lost.
    if let number = current.withLock({ $0?.number }), try !folder.has(number) { closeFile() }
    var file = try current.withLock { $0 } ?? open()
    try batch.content.withUnsafeBytes { try file.file.write($0, at: file.length) }
    if batch.isAwaited { try file.file.sync() }
    file.length += Int64(batch.content.count)
    let written = file
    current.withLock { $0 = written }
  }

  private func open() throws -> File {
    let (number, opened) = try folder.makeFile()
    let file = File(number: number, file: opened)
    current.withLock { $0 = file }
    makeSpare()
    return file
  }

  private func makeSpare() {
    do { try folder.makeSpare() } catch { log.debug("no room is kept for records of new tasks: \(error)") }
  }

  /// The part of a record that could be written is of no use, and takes room that the queue may need. A full disk goes on with the
  /// same file, so that it gets no file more with each record; after another failure there is a new one.
  private func dropEnd(because error: any Error) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let file = current.withLock({ $0 }) else { return }
    do {
      try file.file.truncate(to: file.length)
      if !SpaceShortage.isCause(of: error) { closeFile() }
    } catch { closeFile() }
  }

  private func closeFile() {
    dispatchPrecondition(condition: .onQueue(queue))
    let file = current.withLock { file in
      defer { file = nil }
      return file
    }
    guard let file else { return }
    try? file.file.close()
    // Each try would leave one.
    if file.length == 0 { try? folder.remove(file.number) }
  }
}
