import Foundation
import SystemServices
import TransferProtocol

/// Where the transfer service listens and where its program is.
struct ServiceLocation: Sendable {
  let socket: String
  /// nil when the program is nowhere to be found.
  let program: String?

  /// In the environment: the program to start, instead of the one that is found.
  static let programVariable = "URLSESSIOND_PATH"

  init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    if let path = environment[ServiceNames.socketVariable], path.hasPrefix("/") {
      socket = path
    } else {
      let runtime = try UserDirectories(environment: environment).runtime
      socket = "\(runtime)/\(ServiceNames.directory)/\(ServiceNames.socket)"
    }
    program = ServiceLocation.candidates(environment).first { access($0, X_OK) == 0 }
  }

  /// The variable; beside the app's own executable, as in a package's build folder; where packages install; PATH.
  private static func candidates(_ environment: [String: String]) -> [String] {
    if let path = environment[programVariable], path.hasPrefix("/") { return [path] }
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
