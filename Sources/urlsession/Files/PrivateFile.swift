import Foundation
import SystemServices

/// Files of a user's choice that no other user may read.
enum PrivateFile {
  /// Finds out before a load whether a file can be made, or replaced, at `path`.
  ///
  /// - Parameter option: The option that names the file, for the advice.
  static func check(_ path: String, option: String) throws(CommandFailure) {
    let advice = "name a file in a folder that exists and is yours to write in, with \(option)"
    func refuse(_ reason: String) -> CommandFailure {
      CommandFailure(.cannotWrite, "\(path) can't be written: \(reason)", advice: advice)
    }
    let folder = (try CommandPath.absolute(path) as NSString).deletingLastPathComponent
    if path.isEmpty { throw refuse("the name is empty") }
    if path.hasSuffix("/") || Destination.isFolder(path) { throw refuse("it names a folder") }
    if Destination.isSpecialFile(path) {
      guard access(path, W_OK) != 0 else { return }
      throw refuse(String(cString: strerror(errno)))
    }
    guard Destination.isFolder(folder) else { throw refuse("there is no folder \(folder)") }
    if let refusal = NewFileTrial.refusal(of: folder) { throw refuse("\(folder): \(refusal)") }
  }

  /// Replaces the file at `path` at once, with mode 0600. A device or pipe is written to.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    if Destination.isSpecialFile(path) {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: try CommandPath.absolute(path)))
      try handle.write(contentsOf: bytes)
      return try handle.close()
    }
    let disk = LinuxFileSystem()
    // `ReplacedFile` has a fixed name for the new file, which may be another file of the user's here.
    let new = path + ".\(UUID().uuidString.prefix(8)).new"
    do {
      let file = try disk.open(new)
      try bytes.withUnsafeBytes { try file.write($0, at: 0) }
      try file.close()
      try disk.rename(new, to: path)
    } catch {
      try? disk.remove(new)
      throw error
    }
  }
}
