import Foundation
import TransferProtocol

/// Transfers that something is missing of.
extension TransferEngine {
  func lostFields(of stored: StoredTransfer) -> TransferFailure {
    lost(
      stored.head.id,
      because: "the header fields or the body of its request can't be read any more, since the key to them is gone; "
        + "create the task again", url: stored.description.request.url)
  }

  /// The end of a transfer that can't go on. What has arrived of it is set aside for its user.
  func lost(_ id: TransferID, because cause: String, url: String? = nil) -> TransferFailure {
    var received: String?
    do {
      let size = try files.disk.size(of: files.partial(id))
      if size ?? 0 > 0 {
        let folder = try files.setAside(id, in: TransferFiles.partialName, date: clock.date)
        received = "\(folder)/\(TransferFiles.partialName)/\(id)"
      } else if size == nil {
        // A service that died before the end was written may have moved it.
        received = try files.pathsSetAside(of: [id], in: TransferFiles.partialName)[id]
      }
    } catch { log.warning("what has arrived of transfer \(id) was not set aside: \(error)") }
    return LostTask.failure(because: cause, received: received, url: url)
  }
}
