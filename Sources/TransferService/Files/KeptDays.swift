import Foundation
import SystemServices
import TransferProtocol

/// On how many days the service ran while it kept things that no app has asked for: folders of remains, and files of resume
/// points. A wall clock that is set wrong would make all of them old at once, so none is removed by its date alone.
///
/// It is in a file beside the queue, by paths in the service's folder. Without that file the days are counted anew.
struct KeptDays: Codable, Equatable {
  private var days: [String: Int]
  /// When a day was counted last, by the wall clock; from when on the next one is, by the clock of a start of the machine.
  private var counted: DurableInstant?

  static let fileName = "kept-days"
  private static let day: TimeInterval = 86_400

  init(days: [String: Int] = [:]) { self.days = days }

  subscript(path: String) -> Int { days[path] ?? 0 }

  /// Counts a day for all that was there before, once a day by the clock of this start of the machine. Of the time before, the
  /// wall clock alone tells: it is looked at once for each start, and counts for one day however far away it is.
  ///
  /// - Parameter present: the paths of the things that there are. Others are forgotten.
  mutating func count(_ present: Set<String>, clock: any ServiceClock) {
    days = days.filter { present.contains($0.key) }
    if !days.isEmpty, isDayOver(clock) {
      for path in days.keys { days[path, default: 0] += 1 }
      counted = DurableInstant(clock.now, clock: clock)
    } else if days.isEmpty, !present.isEmpty {
      counted = DurableInstant(clock.now, clock: clock)
    }
    for path in present where days[path] == nil { days[path] = 0 }
  }

  private mutating func isDayOver(_ clock: any ServiceClock) -> Bool {
    guard let last = counted else { return true }
    if last.bootID == clock.bootID {
      return clock.now - BootInstant(nanoseconds: last.nanoseconds) >= KeptDays.day
    }
    if abs(clock.date.timeIntervalSince1970 - last.wall) >= KeptDays.day { return true }
    // A clock that is set later in this start of the machine tells nothing.
    counted = DurableInstant(
      bootID: clock.bootID, nanoseconds: clock.now.nanoseconds, wall: last.wall, counted: nil)
    return false
  }

  // MARK: The file

  /// One that is damaged says nothing.
  static func read(in directory: String, disk: any DurableFileSystem) -> KeptDays {
    guard let data = try? disk.content(of: "\(directory)/\(fileName)"),
      let read = try? MessageFraming.decode(KeptDays.self, from: data)
    else { return KeptDays() }
    // Whatever the file says, days can be added to it.
    return KeptDays(days: read.days.mapValues { min(max($0, 0), 1_000_000) }, counted: read.counted)
  }

  private init(days: [String: Int], counted: DurableInstant?) { (self.days, self.counted) = (days, counted) }

  func write(in directory: String, disk: any DurableFileSystem) throws {
    try disk.replace("\(directory)/\(KeptDays.fileName)") { file in
      try MessageFraming.encode(self).withUnsafeBytes { try file.write($0, at: 0) }
    }
  }
}
