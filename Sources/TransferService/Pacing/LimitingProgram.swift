import Foundation
import SystemServices

/// The program that may limit everything that the service transfers: the `urlsession` that was installed with the service.
/// Another app could stop all others with it.
package enum LimitingProgram {
  /// Looks at the disk: the program has to be the very file at the tool's path, as `UsersTool` has it.
  ///
  /// - Parameter service: The path of the service's own program as proc(5) tells it.
  package static func isAllowed(
    _ program: ExecutableIdentity,
    besides service: String? = try? FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/exe")
  ) -> Bool {
    guard let service else { return false }
    let beside = UsersTool(besideService: service)
    // Debian has the service in bin, other systems in libexec.
    let folder = URL(fileURLWithPath: beside.path).deletingLastPathComponent().deletingLastPathComponent()
    let inBin = UsersTool(path: folder.appendingPathComponent("bin/\(UsersTool.name)").path)
    return beside.isProgram(program) || inBin.isProgram(program)
  }
}
