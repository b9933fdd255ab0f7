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

  /// Why the app may not have more bytes on the disk; nil while it may. What its running transfers expect counts.
  func overQuota(_ id: TransferID) throws -> DiskUse.Shortage? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let app = sessions[transfer.session]?.app else { return nil }
    try countDiskUse(of: app)
    let missing = missingBytes(of: transfer)
    let limit = settings.quotas.diskBytes
    guard let shortage = diskUse.shortage(of: missing, for: id, of: app, limit: limit) else { return nil }
    guard try store.unfinishedUploads()[id] != nil else { return shortage }
    // Copies go when they are sent, so they hold no upload back.
    return diskUse.shortage(of: missing, for: id, of: app, limit: limit, countsCopies: false)
  }

  /// nil where the length is not known.
  private func missingBytes(of transfer: LiveTransfer) -> Int64? {
    transfer.expectedTotal < 0 ? nil : max(0, transfer.expectedTotal - transfer.received)
  }

  /// Bytes of parts, finished files and copies that were counted a few seconds ago are good enough.
  private func countDiskUse(of app: AppID) throws {
    guard diskUse.needsCount(of: app, at: clock.now) else { return }
    let files = try store.fileBytes(of: app, without: diskUse.running(of: app))
    diskUse.counted(files: files, copies: try store.uploadBytes(of: app), of: app, at: clock.now)
  }

  /// How many bytes of files the app of a session may have copied now.
  func uploadRoom(session id: SessionID) throws -> Int64 {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let app = sessions[id]?.app else { return .max }
    try countDiskUse(of: app)
    return diskUse.room(of: app, limit: settings.quotas.diskBytes)
  }

  // MARK: Runs

  /// A transfer begins to run.
  func countRun(_ id: TransferID, received: Int64) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let app = sessions[transfer.session]?.app else { return }
    diskUse.began(id, of: app, received: received)
    if let missing = missingBytes(of: transfer) { diskUse.claim(missing, for: id) }
  }

  /// The length is known now. A transfer that the app has no room for waits, and the server is asked no more meanwhile.
  func stopIfOverQuota(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id] else { return }
    diskUse.advanced(id, to: transfer.received)
    do {
      if let shortage = try overQuota(id) { return stop(id, because: shortage) }
      diskUse.claim(missingBytes(of: transfer) ?? 0, for: id)
    } catch { log.warning("the bytes of the app of transfer \(id) can't be counted: \(error)") }
  }

  /// Bytes have arrived. One whose length was not known until now, or is not known, may be more than the app has room for.
  ///
  /// - Parameter before: The transfer before they did.
  func countArrived(_ id: TransferID, before: LiveTransfer) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id] else { return }
    // A download that starts over needs all of its bytes again.
    guard transfer.expectedTotal == before.expectedTotal, transfer.received >= before.received else {
      return stopIfOverQuota(id)
    }
    diskUse.advanced(id, to: transfer.received)
    // Transfers that have claimed their rest go on.
    guard transfer.expectedTotal < transfer.received, diskUse.isOver(settings.quotas.diskBytes, by: id) else { return }
    do { if let shortage = try overQuota(id) { stop(id, because: shortage) } } catch {
      log.warning("the bytes of the app of transfer \(id) can't be counted: \(error)")
    }
  }

  private func stop(_ id: TransferID, because shortage: DiskUse.Shortage) {
    log.info("transfer \(id) stops: \(shortage.reason.sentence)")
    runs[id]?.stop()
  }

  /// - Parameter received: Bytes that it has on the disk; nil where that is not known.
  func countEndOfRun(_ id: TransferID, received: Int64?) {
    dispatchPrecondition(condition: .onQueue(queue))
    if let received { diskUse.advanced(id, to: received) }
    diskUse.ended(id)
  }

  /// A transfer is over and leaves no file.
  func countGivenUpPart(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], let app = sessions[transfer.session]?.app else { return }
    diskUse.gaveUp(transfer.received, of: app)
  }
}
