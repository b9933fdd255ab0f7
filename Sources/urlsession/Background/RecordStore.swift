import Foundation
import Synchronization
import SystemServices
import TransferProtocol

/// The records, one small JSON file a download, named after its session. Several processes may use it.
struct RecordStore: Sendable {
  let folder: String

  /// How long the record of a download that is over is kept.
  static let keptFor: TimeInterval = 30 * 86_400

  /// Orders the threads of this process; the lock on the file orders processes.
  private static let threads = Mutex(())

  /// - Parameter state: This program's folder of state.
  init(state: String) { folder = state + "/results" }

  func read(_ session: String) -> DownloadRecord? {
    guard let path = path(of: session) else { return nil }
    return decode(path)
  }

  /// Every record, oldest first. What can't be read is left out.
  func all() -> [DownloadRecord] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(".json") }.compactMap { decode("\(folder)/\($0)") }
      .sorted { $0.created < $1.created }
  }

  /// The latest record of a transfer with that number: a service whose whole folder is gone begins with the first number again.
  func latest(_ transfer: Int64) -> DownloadRecord? { all().last { $0.transfer == transfer } }

  /// The lock of what only one command does with a record at a time, as long as the value is kept.
  ///
  /// - Returns: nil while another command has it.
  /// - Throws: `CommandFailure` where its file can't be made.
  func lock(_ session: String) throws(CommandFailure) -> FileLock? {
    guard let path = path(of: session).map({ "\($0).lock" }) else { return nil }
    do { return try FileLock.acquire(path) } catch {
      let reason = (error as? SystemError).map { String(cString: strerror($0.code)) } ?? "\(error)"
      throw CommandFailure(
        .cannotWrite, "\(path) can't be written: \(reason)",
        advice: "make room, and see that the folder and the file are yours to write")
    }
  }

  /// Reads, changes and writes a record, undisturbed by other processes; `change` gets nil when there is none yet.
  @discardableResult
  func update(
    _ session: String, _ change: (DownloadRecord?) -> DownloadRecord?
  ) throws -> DownloadRecord? {
    guard let path = path(of: session) else { return nil }
    // URLs may hold secrets: the folder is for this user alone.
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return try RecordStore.threads.withLock { _ in
      let lock = open(folder + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      defer { if lock >= 0 { close(lock) } }
      if lock >= 0 { while lockf(lock, F_LOCK, 0) != 0, errno == EINTR {} }
      guard let record = change(decode(path)) else { return nil }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .millisecondsSince1970
      try encoder.encode(record).write(to: URL(fileURLWithPath: path), options: .atomic)
      return record
    }
  }

  /// Forgets what has been over for long.
  func prune(now: Date = Date()) {
    for record in all() {
      guard let finished = record.finished, now.timeIntervalSince(finished) > RecordStore.keptFor else { continue }
      remove(record.session)
    }
  }

  /// Forgets a download that the service did not take.
  func remove(_ session: String) {
    guard let path = path(of: session) else { return }
    for name in [path, "\(path).lock"] { unlink(name) }
  }

  private func decode(_ path: String) -> DownloadRecord? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return try? JSONReader.decode(DownloadRecord.self, from: data, dates: .millisecondsSince1970)
  }

  /// nil for an identifier that is no name of a file.
  private func path(of session: String) -> String? {
    let isName = !session.isEmpty && !session.hasPrefix(".") && session.utf8.count < 200
    return isName && !session.contains("/") ? "\(folder)/\(session).json" : nil
  }
}
