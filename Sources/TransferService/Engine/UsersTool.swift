import Foundation
import SystemServices

/// The program through which a user sees and changes the transfers of every app: `urlsession`, when it stands in the folder
/// of the service's own program.
///
/// The kernel says which file a connected process runs. It has to be the very file that is at that path now, which only
/// the system or this user may write. An installation puts both programs there together, so no other app has to be
/// trusted, and a copy of the tool elsewhere is an app like any other.
package struct UsersTool: Sendable, Equatable {
  package static let name = "urlsession"

  package let path: String

  package init(path: String) { self.path = path }

  /// - Parameter service: The path of the service's program as proc(5) tells it.
  package init(besideService service: String) {
    let mark = " (deleted)"
    let program = service.hasSuffix(mark) ? String(service.dropLast(mark.count)) : service
    path = (program as NSString).deletingLastPathComponent + "/" + UsersTool.name
  }

  /// That of this process; nil where the kernel does not say which program it runs.
  package static func besideThisProcess() -> UsersTool? {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map(UsersTool.init(besideService:))
  }

  /// Whether it is the program of that identity. Looks at the disk.
  package func isProgram(_ program: ExecutableIdentity) -> Bool {
    var file = stat()
    guard stat(path, &file) == 0, file.st_mode & S_IFMT == S_IFREG else { return false }
    return UInt64(file.st_dev) == program.device && UInt64(file.st_ino) == program.inode && isOurs(file)
      && isFolderOurs()
  }

  /// A folder in which other users can put files could hold another program of that name by now.
  private func isFolderOurs() -> Bool {
    var folder = stat()
    return stat((path as NSString).deletingLastPathComponent, &folder) == 0 && isOurs(folder)
  }

  /// A group of one's own may write, as umask 002 has it.
  private func isOurs(_ status: stat) -> Bool {
    (status.st_uid == 0 || status.st_uid == geteuid()) && status.st_mode & S_IWOTH == 0
  }
}
