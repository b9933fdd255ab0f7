import Dispatch
import Foundation
import Logging
import NIOCore
import Synchronization
import SystemServices
import TransferProtocol

/// Writes the journals of transfers: when the first bytes of a try are on the disk, when a try ends, and before a complete
/// file gets its name; of uploads when they are created, too, and when the server may have the whole; of downloads whose
/// requests must not arrive twice before these are sent. Callable from any thread. The files are touched on queues of their own, for which neither the engine's queue nor the threads that write
/// bytes wait. A disk is waited for by several at once, since it takes them together.
///
/// A journal that can't be written ends no transfer: it is a second record, beside the queue.
final class JournalKeeper: Sendable {
  private let folder: JournalFolder
  private let store: TransferStore
  private let key: QueueKey
  private let bootID: String
  private let log: Logger
  /// Serial queues, one of which a transfer always has: what is written last is what the queue had last.
  private let lanes = (0..<8).map { DispatchQueue(label: "transfer-service.journals-\($0)", qos: .utility) }
  /// Transfers whose journals are without header fields, until there is a key.
  private let awaitingKey = Mutex<Set<TransferID>>([])

  init(store: TransferStore, files: TransferFiles, key: QueueKey, bootID: String, log: Logger) {
    folder = files.journals
    self.store = store
    self.key = key
    self.bootID = bootID
    self.log = log
  }

  // MARK: From any thread

  /// Has the key asked for that the journal of such a request needs.
  func prepare(_ request: RequestDescription, _ options: SessionOptions) {
    let hasFields = SealedFields(of: request) != nil || options.httpAdditionalHeaders?.isEmpty == false
    guard !key.isSettled, hasFields else { return }
    key.open {}
  }

  /// Writes what the queue has of the transfer by then. Nothing waits for it.
  func keep(_ id: TransferID) { lane(id).async { self.write(id) } }

  /// The same, where there is a journal already.
  func renew(_ id: TransferID) {
    lane(id).async {
      if self.hasJournal(id) { self.write(id) }
    }
  }

  /// Writes what the queue has of the transfer. Returns when it is written, or can't be.
  func kept(_ id: TransferID) async { await onLane(of: id) { $0.write(id) } }

  /// The same. Throws when it can't be written, or a power failure may bring an earlier journal back.
  func keptForGood(_ id: TransferID) async throws {
    try await onLane(of: id) { keeper in Result { try keeper.tryToWrite(id, lasts: true) } }.get()
  }

  /// Throws where `keptForGood` would, as far as can be told before there is anything to keep.
  func probe(_ id: TransferID) async throws {
    try await onLane(of: id) { keeper in Result { try keeper.folder.probe(id) } }.get()
  }

  /// - Parameter lasts: Whether a journal that can't be written for good is a failure.
  func kept(_ id: TransferID, lasts: Bool, on loop: any EventLoop) -> EventLoopFuture<Void> {
    let written = loop.makePromise(of: Void.self)
    lane(id).async {
      if lasts {
        written.completeWith(Result { try self.tryToWrite(id, lasts: true) })
      } else {
        self.write(id)
        written.succeed()
      }
    }
    return written.futureResult
  }

  /// The same, before a complete file of `count` bytes gets its name.
  func kept(_ id: TransferID, complete count: Int64) async {
    await onLane(of: id) { keeper in
      if (try? keeper.folder.read(id))?.expectedTotal != count { keeper.write(id) }
    }
  }

  /// The bytes are about to be overwritten. Throws when the journal may come back after a power failure.
  func forgetBytes(of id: TransferID) async throws {
    try await onLane(of: id) { keeper in
      Result {
        try keeper.folder.removeForGood(id)
        // That of an upload also says what is sent, and another one that the server may have the request.
        if let stored = try keeper.store.transfer(id), stored.upload != nil || stored.head.isBegun { keeper.write(id) }
      }
    }.get()
  }

  /// Returns when all that was asked for before is written. Blocks.
  func drain() { for lane in lanes { lane.sync {} } }

  private func lane(_ id: TransferID) -> DispatchQueue { lanes[Int(UInt64(bitPattern: id) % UInt64(lanes.count))] }

  private func onLane<Value: Sendable>(
    of id: TransferID, _ work: @escaping @Sendable (JournalKeeper) -> Value
  ) async -> Value {
    await withCheckedContinuation { done in lane(id).async { done.resume(returning: work(self)) } }
  }

  // MARK: On the lane of the transfer

  /// Also where it can't be read now.
  private func hasJournal(_ id: TransferID) -> Bool {
    dispatchPrecondition(condition: .onQueue(lane(id)))
    do { return try folder.read(id) != nil } catch { return true }
  }

  private func write(_ id: TransferID) {
    do { try tryToWrite(id, lasts: false) } catch {
      log.warning("the journal of transfer \(id) was not written: \(error)")
    }
  }

  private func tryToWrite(_ id: TransferID, lasts: Bool) throws {
    dispatchPrecondition(condition: .onQueue(lane(id)))
    guard let journal = try journal(of: id) else { return }
    // That of an upload says whether the server may have it.
    try journal.upload == nil ? folder.write(journal) : store.makingRoom { try folder.write(journal) }
    if lasts { try folder.sync() }
    // It may have ended meanwhile, and its journal gone before this one was there.
    if try store.isOver(id) { try folder.remove(id) }
    if journal.lacksFields, !key.isSettled { awaitKey(for: id) }
  }

  private func journal(of id: TransferID) throws -> TransferJournal? {
    guard let stored = try store.transfer(id), !stored.isDamaged, stored.head.state != .completed,
      let session = try store.session(stored.head.session)
    else { return nil }
    return try TransferJournal(stored, of: session, bootID: bootID) { key.sealFields($0, for: $1) }
  }

  /// The keychain is asked in the background; what it opens is added then.
  private func awaitKey(for id: TransferID) {
    let isFirst = awaitingKey.withLock { waiting in
      defer { waiting.insert(id) }
      return waiting.isEmpty
    }
    guard isFirst else { return }
    key.open { [self] in keyIsSettled() }
  }

  /// On any thread.
  private func keyIsSettled() {
    let waiting = awaitingKey.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for id in waiting { renew(id) }
  }
}
