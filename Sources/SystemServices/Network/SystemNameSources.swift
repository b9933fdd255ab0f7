import Foundation
import Synchronization

/// The files of this machine that say where the C library finds names. They are read once, and again when they change.
package final class SystemNameSources: Sendable {
  package static let shared = SystemNameSources()

  private struct Known: Sendable {
    let stamps: [FileStamp?]
    let sources: NameSources
  }

  private let folder: String
  private let known = Mutex<Known?>(nil)

  /// Of a longer table of names nothing is known: it would take memory, and time with each change.
  static let longestFile = 1 << 20

  /// - Parameter folder: Where the files are.
  package init(folder: String = "/etc") { self.folder = folder }

  /// Looks whether the files have changed, and reads them then.
  package func current() -> NameSources {
    let paths = ["nsswitch.conf", "resolv.conf", "hosts"].map { "\(folder)/\($0)" }
    // Before they are read: a change meanwhile is seen the next time.
    let stamps = paths.map { FileStamp(path: $0) }
    if let known = known.withLock({ $0 }), known.stamps == stamps { return known.sources }
    let sources = NameSources(
      switches: text(paths[0]), resolver: text(paths[1]),
      options: ProcessInfo.processInfo.environment["RES_OPTIONS"],
      hosts: stamps[2] == nil ? "" : text(paths[2]), ownName: SystemNameSources.ownName())
    known.withLock { $0 = Known(stamps: stamps, sources: sources) }
    return sources
  }

  private static func ownName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// nil where it is not there, or too long.
  private func text(_ path: String) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    guard let data = try? file.read(upToCount: SystemNameSources.longestFile + 1) ?? Data(),
      data.count <= SystemNameSources.longestFile
    else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}
