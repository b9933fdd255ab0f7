import SystemServices

/// The files of a queue that is open. SQLite goes on with them where their names were removed, or given to other files, and all that is
/// written then is gone with the process. A file is known by its identity.
struct OpenQueueFiles: Sendable {
  private struct File {
    let path: String
    let name: String
    /// nil where it was gone when the others were looked at.
    let identity: FileIdentity?
  }

  private let files: [File]

  /// - Parameter path: that of the queue, which is open.
  init(_ path: String) {
    let file = File(path: path, name: "file", identity: FileIdentity(path: path))
    let log = File(path: path + "-wal", name: "log", identity: FileIdentity(path: path + "-wal"))
    // A queue behind a symbolic link has its log elsewhere.
    files = log.identity == nil ? [file] : [file, log]
  }

  /// The loss of one of them, as a clause; nil where all are in their places. Throws where the machine can't look now.
  func loss(on disk: any DurableFileSystem) throws -> String? {
    for file in files {
      guard try disk.size(of: file.path) != nil else { return "its \(file.name) was removed while it was in use" }
      if let identity = FileIdentity(path: file.path), identity != file.identity {
        return "its \(file.name) was replaced while it was in use"
      }
    }
    return nil
  }
}
