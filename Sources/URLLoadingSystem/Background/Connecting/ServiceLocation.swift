import Foundation
import HTTPTransport
import SystemServices
import TransferProtocol

/// The sockets of the transfer service and the path of its program.
struct ServiceLocation: Sendable {
  let socket: String
  /// The places at which the service is asked, in order. The folder of the first one is gone between a logout and the next
  /// login, and the user can't make it; the service listens in its state folder too. One that is named is the only one.
  let sockets: [String]
  /// nil when the program is nowhere to be found.
  let program: String?
  /// The log of a service that an app has started.
  let log: String?
  /// The folders in which the queue may be: that of a service that this app starts, and that which the service has noted.
  let stateFolders: [String]

  /// Looks at files.
  init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    BlockingWork.assertMayBlock()
    let state = (try? UserDirectories(environment: environment)).map { "\($0.state)/\(ServiceNames.directory)" }
    log = state.map { "\($0)/\(ServiceNames.log)" }
    let named = environment[ServiceNames.socketVariable]
    let path: String
    if let named, named.hasPrefix("/") {
      path = named
    } else {
      let runtime = try UserDirectories(environment: environment).runtime
      path = "\(runtime)/\(ServiceNames.directory)/\(ServiceNames.socket)"
    }
    socket = path
    let note = ServiceNote(at: ServiceNote.path(environment: environment))
    // An app to which no folder is named, such as one of cron, has the user's service, wherever the socket of that is.
    let isNamed = named != nil || environment["XDG_RUNTIME_DIR"] != nil
    let noted = note.flatMap { $0.socket == path || !isNamed ? $0.stateFolder : nil }
    stateFolders = [state, noted == state ? nil : noted].compactMap { $0 }
    sockets = named == path ? [path] : [path] + stateFolders.map { "\($0)/\(ServiceNames.socket)" }
    if let path = environment[ServiceNames.programVariable], path.hasPrefix("/") {
      // A user who sets the variable could run the program as well.
      program = ServiceLocation.isProgram(path) ? path : nil
    } else {
      program = ServiceLocation.trusted(ServiceLocation.candidates(environment))
    }
  }

  /// Whether the service has a queue on the disk, or what it makes one of again: on a full disk that may take as long as the disk is
  /// full. True also where a fault of the disk, or a folder that this user has closed, hides it. Looks at files.
  var hasQueue: Bool {
    stateFolders.contains { folder in
      let names = [
        ServiceNames.queue, ServiceNames.queueCopy, ServiceNames.secondQueueCopy, ServiceNames.quarantineNote,
      ]
      return names.contains {
        access("\(folder)/\($0)", F_OK) == 0 || ServiceLocation.mayHide(errno, in: folder)
      }
    }
  }

  /// Whether a look into the folder that failed so leaves open what is there.
  static func mayHide(_ code: Int32, in folder: String) -> Bool {
    switch code {
    case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: return false
    case EACCES, EPERM: break
    default: return true
    }
    // The folder, or the nearest one above it that can be seen: it is the one that is closed. That of another user has no queue of
    // this one.
    var path = folder
    var status = stat()
    while lstat(path, &status) != 0 {
      guard errno == EACCES || errno == EPERM, path.count > 1 else { return false }
      path = (path as NSString).deletingLastPathComponent
    }
    return status.st_uid == geteuid()
  }

  static func isProgram(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return access(path, X_OK) == 0 && FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      && !isFolder.boolValue
  }

  /// The first program that only the system or this user can have put there.
  static func trusted(_ candidates: [String]) -> String? { candidates.first { TrustedProgram.isTrusted($0) } }

  /// Beside the app's own executable, as in a package's build folder; where packages install; PATH.
  private static func candidates(_ environment: [String: String]) -> [String] {
    var folders: [String] = []
    if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      let folder = (own as NSString).deletingLastPathComponent
      folders += [folder, folder + "/../libexec"]
    }
    folders += ["/usr/local/libexec", "/usr/libexec", "/usr/local/bin", "/usr/bin"]
    folders += (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    return folders.map { "\($0)/\(ServiceNames.program)" }
  }
}
