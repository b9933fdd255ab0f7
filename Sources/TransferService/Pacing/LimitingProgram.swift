import Foundation
import SystemServices

/// The program that may limit everything that the service transfers: the `urlsession` that was installed with the service.
/// Another app could stop all others with it.
package enum LimitingProgram {
  /// - Parameter service: the path of the service's own program.
  package static func isAllowed(
    _ program: ExecutableIdentity,
    besides service: String? = try? FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/exe")
  ) -> Bool {
    guard let service else { return false }
    let folder = URL(fileURLWithPath: service).deletingLastPathComponent()
    // Debian has the service in bin, other systems in libexec.
    let folders = [folder, folder.deletingLastPathComponent().appendingPathComponent("bin")]
    return folders.contains { $0.appendingPathComponent("urlsession").path == program.path }
  }
}
