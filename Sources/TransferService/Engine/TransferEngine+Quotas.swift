import Foundation
import TransferProtocol

/// Keeps apps within what each may take of the queue and of the disk.
extension TransferEngine {
  /// Refuses descriptions that the app has no room in the queue for. Its history goes first.
  func checkQueueBytes(adding added: [Data], of app: AppID) throws {
    let (limit, count) = (settings.quotas.queueBytes, Int64(added.reduce(0) { $0 + $1.count }))
    var used = try usage[app, default: AppUsage()].queueBytes(at: clock.now) { try store.queueBytes(of: app) }
    // Some may be over since they were counted.
    if count > limit - used { used = try store.queueBytes(of: app) }
    if count > limit - used {
      try store.forgetHistory(of: app)
      used = try store.queueBytes(of: app)
    }
    usage[app, default: AppUsage()].counted(queueBytes: used, at: clock.now)
    guard count <= limit - used else {
      throw Refusal(
        .tooLarge,
        "The records of the app's background tasks take \(used) bytes, and its quota is \(limit); finish or cancel "
          + "some tasks before adding \(count) more bytes.")
    }
    usage[app]?.addQueueBytes(count)
  }

  /// Why the app may not have more bytes on the disk; nil while it may.
  func overQuota(_ id: TransferID) throws -> (used: Int64, limit: Int64)? {
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
    guard let app = sessions[id]?.app else { return .max }
    return max(0, settings.quotas.diskBytes - (try diskBytes(of: app)))
  }

  /// The length is known now. A transfer that the app has no room for waits, and the server is asked no more meanwhile.
  func stopIfOverQuota(_ id: TransferID) {
    do { if try overQuota(id) != nil { runs[id]?.stop() } } catch {
      log.warning("the bytes of the app of transfer \(id) can't be counted: \(error)")
    }
  }
}
