import Foundation
import SystemServices

/// The state of a complete file before an app got a name of it: its date and its length, in an attribute of the file itself, so
/// that they outlive the service. A process that writes into the file changes its date.
enum ReceivedMark {
  private static let name = "user.urlsession.received"
  /// Marks a file that nothing writes into now. The mark is on the disk when this returns.
  static func set(on file: SourceFile) throws {
    // The kernel dates a file that is written with its last tick, which is 10 ms ago at most. The date of the mark has to be
    // an earlier one.
    try makeOlder(file, than: 50_000_000)
    // The file system may count whole seconds.
    if try file.regularStatus().st_mtim.tv_nsec == 0 { try makeOlder(file, than: 3_000_000_000) }
    try file.setAttribute(name, to: state(of: try file.regularStatus()))
    try file.sync()
  }

  private static func makeOlder(_ file: SourceFile, than age: Int) throws {
    let second = 1_000_000_000
    var date = timespec()
    clock_gettime(CLOCK_REALTIME, &date)
    let nanoseconds = date.tv_nsec + 5 * second - age
    date = timespec(tv_sec: date.tv_sec - 5 + nanoseconds / second, tv_nsec: nanoseconds % second)
    let modified = try file.regularStatus().st_mtim
    if (modified.tv_sec, modified.tv_nsec) > (date.tv_sec, date.tv_nsec) { try file.setModified(date) }
  }

  /// nil where the file has no mark; else whether it is still in the state that it had then.
  static func fits(_ file: SourceFile) throws -> Bool? {
    guard let mark = file.attribute(name) else { return nil }
    return mark == state(of: try file.regularStatus())
  }

  static func remove(from file: SourceFile) { try? file.removeAttribute(name) }

  private static func state(of status: stat) -> [UInt8] {
    Array("\(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec) \(status.st_size)".utf8)
  }
}
