import Foundation
import GRDB
import SystemServices
import TransferProtocol

/// A task that can't go on, because too little is left of its record: it ends with a failure that its app is told.
struct LostTask {
  let id: TransferID
  let session: SessionID
  let taskIdentifier: Int
  let token: String
  /// JSON; empty where nothing of it is left.
  let description: Data
  /// A clause.
  let cause: String
  /// The path of what has arrived; nil where there is nothing.
  let received: String?

  static func failure(because cause: String, received: String?, url: String? = nil) -> TransferFailure {
    TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.backgroundSessionWasDisconnected.rawValue,
      message: "The transfer service can't go on with this task: \(cause). "
        + (received.map { "What had arrived of it is kept in \($0)." } ?? "Nothing that had arrived of it is left."),
      url: url)
  }

  /// Its events are made with those of others.
  func insert(into database: Database, date: Date) throws {
    let url = (try? MessageFraming.decode(TransferDescription.self, from: description))?.request.url
    try database.execute(
      sql: """
        INSERT OR IGNORE INTO transfers (id, session, taskIdentifier, token, state, host, priority, description, failure,
          created, finished)
        VALUES (?, ?, ?, ?, 'completed', '', 0.5, ?, ?, ?, ?)
        """,
      arguments: [
        id, session, taskIdentifier, token, description,
        JSONStored.encode(LostTask.failure(because: cause, received: received, url: url)),
        date.timeIntervalSince1970, date.timeIntervalSince1970,
      ])
  }
}

extension TransferFiles {
  /// The path that the bytes of a transfer are moved to; nil where there are none.
  func keptPath(of transfer: TransferID, in folder: String) throws -> String? {
    for name in [TransferFiles.completeName, TransferFiles.partialName] {
      for root in [directory, folder] where try disk.size(of: "\(root)/\(name)/\(transfer)") ?? 0 > 0 {
        return "\(folder)/\(name)/\(transfer)"
      }
    }
    return nil
  }
}
