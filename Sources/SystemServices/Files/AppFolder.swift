import Foundation

/// The name of the folder in which the library keeps what belongs to one app: one program.
package enum AppFolder {
  /// Of the running program.
  package static let current = name(
    bundleIdentifier: Bundle.main.bundleIdentifier, executable: executable ?? CommandLine.arguments.first ?? "app")

  /// The folder of the library below one of the user's folders.
  package static let library = "url-loading-system"

  /// The bundle's identifier, where the app has one. Else the program's name and a number made of its path, so that
  /// programs of the same name have folders of their own.
  package static func name(bundleIdentifier: String?, executable: String) -> String {
    if let identifier = bundleIdentifier, isName(identifier) { return identifier }
    let program = (executable as NSString).lastPathComponent.unicodeScalars.map { isAllowed($0) ? Character($0) : "_" }
    // FNV-1a, 64 bits. It tells paths apart, and keeps no secret.
    let hash = executable.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(program.prefix(64)) + "-" + String(hash, radix: 16)
  }

  /// The kernel's name for the program, also after the program was replaced on the disk.
  private static var executable: String? {
    guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
    let mark = " (deleted)"
    return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 200 && text.first != "." && text.unicodeScalars.allSatisfy(isAllowed)
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": true
    default: false
    }
  }
}
