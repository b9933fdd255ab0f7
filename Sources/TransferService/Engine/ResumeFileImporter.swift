import Dispatch
import Foundation
import HTTPSemantics
import Logging
import Synchronization
import SystemServices
import TransferProtocol

/// Makes the file that an app gave the beginning of its download. Without it the download starts at zero. Where the service's own
/// disk or the machine fails, which says nothing against the file, the import is postponed.
///
/// The path of that file comes in a message, and may lead to a file system that hangs, for ever; on another disk it has to be
/// copied. So nothing of it is looked at on the engine's queue, but on threads of its own, two for each app. An import that gets
/// no further for a while is given up: it changes nothing afterwards, and the download starts at zero. The original stays
/// where it was, as it does when the service ends in the middle, and the next service imports it when the transfer starts.
///
/// May be used from any thread.
final class ResumeFileImporter: Sendable {
  let store: TransferStore
  let files: TransferFiles
  let log: Logger
  private let patience: Duration
  private let threads = CopyThreads(name: "resume-files", limits: .init(ofMount: 2, ofApp: 2, all: 64))
  private let timers = DispatchQueue(label: "transfer-engine.resume-files", qos: .utility)
  private let state = Mutex(State())

  enum End: Sendable, Equatable {
    /// So many bytes are in place; 0: the download starts at zero.
    case placed(Int64)
    /// No byte is in place, and the file is where it was.
    case postponed(ImportObstacle)
  }

  private struct State {
    var imports: [TransferID: Import] = [:]
    /// When an import of the app got further. Those that wait for its threads wait as long as these do.
    var lastSteps: [AppID: ContinuousClock.Instant] = [:]
  }

  /// - Parameter patience: for an import that gets no further.
  init(store: TransferStore, files: TransferFiles, patience: Duration, log: Logger) {
    self.store = store
    self.files = files
    self.patience = patience
    self.log = log
  }

  /// The file of a resume point that an app gave to a transfer, where its path is one that may be imported; nil when the
  /// download has to start at zero. Looks at no file.
  func file(
    _ point: ResumePoint?, validator: ResumeValidator?, for id: TransferID, of app: AppID
  ) throws -> TransferMachine.ResumeImport? {
    guard let point, point.offset > 0, validator?.condition != nil else { return nil }
    let file = ResumeFile(path: point.path, files: files, transfer: id)
    guard try file.isNamedAsOurs({ try store.transfer($0)?.app == app }) else {
      log.notice("transfer \(id) starts at zero: its file was not made for this app")
      return nil
    }
    return TransferMachine.ResumeImport(point: point, validator: validator)
  }

  /// - Parameter ended: called once, on any thread.
  func start(
    _ file: TransferMachine.ResumeImport, for id: TransferID, of app: AppID,
    ended: @escaping @Sendable (End) -> Void
  ) {
    let new = Import(file, id, app, ended)
    state.withLock { state in
      state.imports[id] = new
      if state.lastSteps[app] == nil { state.lastSteps[app] = .now }
    }
    let number = threads.run(at: .init(app: "\(app)")) { self.run(new) }
    watch(new, number, after: patience)
  }

  /// Gives up all that have not begun to change anything.
  func stop() {
    for (_, pending) in state.withLock({ $0.imports }) where pending.giveUp() { end(pending) }
  }

  private func run(_ pending: Import) {
    guard step(pending) else { return }
    let (point, id) = (pending.point, pending.transfer)
    var placed = pending.placed
    do {
      // Another file may get its path at any moment, so it is used as it was opened.
      let file = try ResumeFile(path: point.path, files: files, transfer: id).open()
      if placed > 0 {
        if try files.isPart(file.file, of: id), pending.take() { try file.removeName() }
        return end(pending)
      }
      let isTaken = try files.takeOver(
        file, for: id, count: point.offset, goesOn: { self.step(pending) }, mayTake: pending.take)
      if isTaken {
        try store.commit(offset: point.offset, representation: nil, of: id)
        placed = point.offset
        // The other file system may hang by now.
        if try !files.isOnOwnDisk(file.file) { end(pending, .placed(placed)) }
        // The original goes only now: until here a crash would have left it to the app.
        try file.removeName()
      }
    } catch {
      // Starting at zero must not empty the original, which may be the same file.
      if placed == 0, pending.isTaking { try? files.disk.remove(files.partial(id)) }
      if placed == 0, let obstacle = ImportObstacle(error, importing: point.path, in: files.directory) {
        log.notice("transfer \(id) waits for its file to be imported: \(error)")
        return end(pending, .postponed(obstacle))
      }
      log.notice("transfer \(id) starts at zero, or its file was left: \(error)")
    }
    end(pending, .placed(placed))
  }

  /// False where it was given up.
  private func step(_ pending: Import) -> Bool {
    guard pending.step() else { return false }
    state.withLock { $0.lastSteps[pending.app] = .now }
    return true
  }

  /// - Parameter end: nil where nothing has changed, and the transfer begins with what it has.
  private func end(_ pending: Import, _ end: End? = nil) {
    state.withLock { state in
      guard state.imports[pending.transfer] === pending else { return }
      state.imports[pending.transfer] = nil
      if !state.imports.contains(where: { $0.value.app == pending.app }) { state.lastSteps[pending.app] = nil }
    }
    pending.end(end ?? .placed(pending.placed))
  }

  private func watch(_ pending: Import, _ number: Int, after pause: Duration) {
    timers.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.look(at: pending, number) }
  }

  private func look(at pending: Import, _ number: Int) {
    let others = state.withLock { $0.lastSteps[pending.app] } ?? .now
    guard let last = pending.lastStep(others: others) else { return }
    let rest = last + patience - .now
    guard rest <= .zero else { return watch(pending, number, after: rest) }
    guard pending.giveUp() else { return }
    threads.withdraw(number)
    let start = pending.placed > 0 ? "leaves its file" : "starts at zero"
    log.notice("transfer \(pending.transfer) \(start): the file system of its file does not answer")
    end(pending)
  }

  private final class Import: Sendable {
    private enum Phase {
      case waiting(since: ContinuousClock.Instant)
      case reading(since: ContinuousClock.Instant)
      /// The transfer's own file is being changed. It is not given up any more.
      case taking
      case over
    }

    let point: ResumePoint
    /// How many bytes the transfer has.
    let placed: Int64
    let transfer: TransferID
    let app: AppID
    private let phase = Mutex(Phase.waiting(since: .now))
    private let ended: Mutex<(@Sendable (End) -> Void)?>

    init(
      _ file: TransferMachine.ResumeImport, _ transfer: TransferID, _ app: AppID,
      _ ended: @escaping @Sendable (End) -> Void
    ) {
      (self.point, self.placed, self.transfer, self.app) = (file.point, file.placed, transfer, app)
      self.ended = Mutex(ended)
    }

    var isTaking: Bool { phase.withLock { if case .taking = $0 { true } else { false } } }

    func step() -> Bool { move(to: .reading(since: .now)) }
    func take() -> Bool { move(to: .taking) }
    func giveUp() -> Bool { move(to: .over) }

    private func move(to next: Phase) -> Bool {
      phase.withLock { phase in
        switch phase {
        case .waiting, .reading:
          phase = next
          return true
        case .taking, .over: return false
        }
      }
    }

    /// nil when it is not given up any more.
    func lastStep(others: ContinuousClock.Instant) -> ContinuousClock.Instant? {
      phase.withLock { phase in
        switch phase {
        case .waiting(let instant): max(instant, others)
        case .reading(let instant): instant
        case .taking, .over: nil
        }
      }
    }

    /// The first call counts.
    func end(_ end: End) {
      let ended = ended.withLock { ended in
        defer { ended = nil }
        return ended
      }
      phase.withLock { $0 = .over }
      ended?(end)
    }
  }
}
