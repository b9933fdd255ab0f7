import Foundation
import SystemServices
import URLLoadingSystem

/// The bytes that downloads of this program had received when they failed: `urlsession retry` goes on with them.
struct KeptBytes: Sendable {
  let folder: String

  /// How long files are kept, in seconds.
  static let keptFor: TimeInterval = 7 * 86_400

  /// - Parameter state: This program's folder of state.
  init(state: String) { folder = state + "/parts" }

  /// The library moves such files there, which is on the service's file system as a rule. Called before the process makes a
  /// session. Where the folder can't be made, they are kept in the temporary folder.
  func use() {
    guard (try? PrivateDirectory.ensure(folder)) != nil else { return }
    TemporaryFile.base.withLock { $0 = folder }
  }

  /// Keeps the bytes of a download that failed, if `retry` can go on with them; else their file is removed.
  ///
  /// - Returns: the resume data; nil where nothing is kept.
  func keep(_ error: (any Error)?, for record: DownloadRecord?) -> Data? {
    guard let error = error as? URLError, let data = error.downloadTaskResumeData, let file = error.resumeFile else {
      return nil
    }
    if let record, record.canBeginAgain, error.code != .cancelled, moved(file) { return data }
    unlink(file.path)
    return nil
  }

  /// A process that the service has started may have another environment, and so another folder.
  private func moved(_ file: URL) -> Bool {
    let owner = file.deletingLastPathComponent()
    let place = "\(folder)/\(owner.lastPathComponent)"
    guard owner.path != place else { return true }
    let disk = LinuxFileSystem()
    do {
      for folder in [folder, place] { try PrivateDirectory.ensure(folder) }
      try disk.link(file.path, to: "\(place)/\(file.lastPathComponent)")
      try disk.remove(file.path)
      return true
    } catch { return false }
  }

  /// The resume data of the record, as long as its bytes are there, as many as there were. Blocks.
  func resumeData(of record: DownloadRecord) -> Data? {
    use()
    guard let data = record.resumeData else { return nil }
    return URLError(.unknown, userInfo: [NSURLSessionDownloadTaskResumeData: data]).hasWholeResumeFile ? data : nil
  }

  /// Removes what no command has used for long. A file's status changes when it is moved there. One that seems to be older than
  /// a year came with a clock that was wrong, and counts from now on.
  func prune(now: Date = Date()) {
    let limit = Int(now.timeIntervalSince1970 - KeptBytes.keptFor)
    let oldest = Int(now.timeIntervalSince1970 - 365 * 86_400)
    for owner in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(owner)")) ?? [] {
        let path = "\(folder)/\(owner)/\(name)"
        var status = stat()
        guard lstat(path, &status) == 0, status.st_ctim.tv_sec < limit else { continue }
        if status.st_ctim.tv_sec < oldest { chmod(path, 0o600) } else { unlink(path) }
      }
    }
  }
}
