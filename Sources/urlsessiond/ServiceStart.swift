import Foundation
import Logging
import SystemServices
import TransferService

/// The start of the service when another one may be there.
///
/// Two apps can start it at the same moment, and one that ends may still have its locks. So: whoever finds the locks
/// taken is not needed when somebody answers on the socket, and tries again for a while when nobody does.
enum ServiceStart {
  private static let patience: TimeInterval = 15

  /// nil when another one serves already.
  static func start(_ configuration: TransferDaemon.Configuration, log: Logger) async throws -> TransferDaemon? {
    let clock = SystemClock()
    let deadline = clock.now + patience
    while true {
      do {
        return try await TransferDaemon.start(configuration)
      } catch let error as TransferDaemon.AlreadyRunning {
        if configuration.adoptedSocket == nil, UnixSocket.isAnswered(configuration.socketPath) {
          log.notice("not needed: \(error)")
          return nil
        }
        guard clock.now < deadline else { throw error }
        // The other one's end can't be waited for: a lock that blocked would block its heir, too.
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }
}

enum UnixSocket {
  /// Whether somebody accepts connections there.
  static func isAnswered(_ path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8) + [0]
    guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
