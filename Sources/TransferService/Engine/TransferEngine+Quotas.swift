import Dispatch
import Foundation
import TransferProtocol

/// Keeps apps within what each may take of the queue and of the disk.
extension TransferEngine {
  /// Room in the queue for descriptions of an app.
  struct QueueSpace: Sendable {
    let app: AppID
    /// Bytes that were added since the start of the service, with these.
    let added: Int64
    /// Is looked for when they are written; nil where there is enough.
    let room: TransferStore.QueueRoom?
  }

  /// Takes room for descriptions. Where it is not known that there is enough the store counts the bytes, and refuses those
  /// that the app has no room for.
  func queueSpace(for descriptions: [Data], of app: AppID) -> QueueSpace {
    dispatchPrecondition(condition: .onQueue(queue))
    let (limit, count) = (settings.quotas.queueBytes, Int64(descriptions.reduce(0) { $0 + $1.count }))
    var known = usage[app, default: AppUsage()]
    // Some may be over since they were counted.
    let isEnough = known.queueBytes(at: clock.now).map { count <= limit - $0 } ?? false
    let added = known.addQueueBytes(count)
    usage[app] = known
    return QueueSpace(
      app: app, added: added, room: isEnough ? nil : TransferStore.QueueRoom(app: app, count: count, limit: limit))
  }

  /// - Parameter used: The bytes of the app's records with these; nil where the store has not counted them.
  func tookQueueSpace(_ space: QueueSpace?, used: Int64?) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let space, let used else { return }
    usage[space.app]?.counted(queueBytes: used, withAdded: space.added, at: clock.now)
  }

  /// Why the app may not have more bytes on the disk; nil while it may.
  func overQuota(_ id: TransferID) throws -> (used: Int64, limit: Int64)? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let app = sessions[transfer.session]?.app else { return nil }
    let limit = settings.quotas.diskBytes
    let used = try diskBytes(of: app)
    let missing = max(0, transfer.expectedTotal - transfer.received)
    // Servers announce any length.
    guard used >= limit || missing > limit - used else { return nil }
    guard try store.unfinishedUploads()[id] != nil else { return (used, limit) }
    // Copies go when they are sent, so they hold no upload back.
    let others = try store.fileBytes(of: app)
    return others >= limit || missing > limit - others ? (used, limit) : nil
  }

  /// Bytes of the app's parts, finished files and copies, as they were counted a few seconds ago.
  private func diskBytes(of app: AppID) throws -> Int64 {
    try usage[app, default: AppUsage()].diskBytes(at: clock.now) {
      try store.fileBytes(of: app).saturatingAdd(store.uploadBytes(of: app))
    }
  }

  /// How many bytes of files the app of a session may have copied now.
  func uploadRoom(session id: SessionID) throws -> Int64 {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let app = sessions[id]?.app else { return .max }
    return max(0, settings.quotas.diskBytes - (try diskBytes(of: app)))
  }

  /// The length is known now. A transfer that the app has no room for waits, and the server is asked no more meanwhile.
  func stopIfOverQuota(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    do { if try overQuota(id) != nil { runs[id]?.stop() } } catch {
      log.warning("the bytes of the app of transfer \(id) can't be counted: \(error)")
    }
  }
}
