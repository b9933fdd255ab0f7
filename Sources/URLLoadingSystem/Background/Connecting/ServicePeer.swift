import Foundation
import HTTPTransport
import SystemServices

/// Decides whether the process that listens on the service's socket is told anything: requests carry credentials.
enum ServicePeer {
  /// Looks at files.
  ///
  /// - Parameters:
  ///   - listener: of the process that made the socket listen, as the kernel says: the service of this user, the user's
  ///     service manager, or that of the system.
  ///   - folder: the socket's. In one that is open to others, the socket may be another one the next time.
  /// - Throws: `ServiceUnavailable`.
  static func check(_ listener: PeerCredentials, folder: String) throws {
    BlockingWork.assertMayBlock()
    guard [0, geteuid()].contains(listener.uid) else {
      throw ServiceUnavailable(reason: "the process that listens on its socket belongs to user \(listener.uid)")
    }
    if listener.uid == 0, isOfSystem(folder) { return }
    do { try PrivateDirectory.check(folder) } catch { throw ServiceUnavailable(reason: "\(error)") }
  }

  /// Whether only the system can change what is in it.
  private static func isOfSystem(_ folder: String) -> Bool {
    var status = stat()
    return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == 0
      && status.st_mode & 0o022 == 0
  }
}
