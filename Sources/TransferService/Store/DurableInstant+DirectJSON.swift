import SystemServices
import TransferProtocol

extension DurableInstant: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("bootID", bootID)
      try $0.field("counted", counted)
      try $0.field("nanoseconds", nanoseconds)
      try $0.field("passed", passed)
      try $0.field("wall", wall)
    }
  }

  /// Each transfer that the app wants has one, which is read when the service starts.
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var bootID: String?
    var nanoseconds: Int64?
    var (wall, counted, passed): (Double?, Double?, Double?)
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "bootID": bootID = try scanner.value()
      case "counted": counted = try scanner.optional()
      case "nanoseconds": nanoseconds = try scanner.value()
      case "passed": passed = try scanner.optional()
      case "wall": wall = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let bootID, let nanoseconds, let wall else { throw JSONScanner.Unfit() }
    self.init(bootID: bootID, nanoseconds: nanoseconds, wall: wall, counted: counted, passed: passed)
  }
}
