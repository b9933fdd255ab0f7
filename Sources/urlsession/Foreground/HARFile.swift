import Foundation
import TransferProtocol
import URLLoadingSystem

/// The HTTP Archive that `get --har` leaves.
enum HARFile {
  /// Replaces the file at `path` by an archive of one load, with mode 0600; of none when the load did not even begin.
  static func write(
    _ metrics: URLSessionTaskMetrics?, to path: String, credentials: HARLog.Credentials
  ) throws(CommandFailure) {
    var log = HARLog(creator: HARLog.Creator(name: "urlsession", version: ProgramVersion.current))
    if let metrics { log.append(metrics, credentials: credentials) }
    do { try PrivateFile.replace(path, with: Array(log.encoded())) } catch {
      throw CommandFailure(
        .cannotWrite, "\(path) can't be written: \(error)", advice: "choose another place with --har")
    }
  }
}
