import Foundation

/// The memory of another process, as far as a core dump would have it.
package enum DumpableMemory {
  /// Whether the bytes are anywhere in it. The process must be a child of this one, or this user's where the system lets
  /// users look into their processes.
  package static func contains(_ bytes: [UInt8], ofProcess pid: pid_t) throws -> Bool {
    let memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
    defer { close(memory) }
    let wanted = Data(bytes)
    for range in try ranges(of: pid) {
      var start = range.lowerBound
      while start < range.upperBound {
        // Pieces overlap by the length of what is looked for.
        let count = min(4 << 20, Int(range.upperBound - start))
        var piece = Data(count: count)
        let offset = off_t(truncatingIfNeeded: start)
        let read = piece.withUnsafeMutableBytes { pread(memory, $0.baseAddress, count, offset) }
        if read > 0, piece.prefix(read).range(of: wanted) != nil { return true }
        if count <= bytes.count { break }
        start += UInt64(count - bytes.count)
      }
    }
    return false
  }

  /// proc(5): what may be read and has no `dd` ("do not include area into core dump").
  private static func ranges(of pid: pid_t) throws -> [Range<UInt64>] {
    let text = try String(contentsOfFile: "/proc/\(pid)/smaps", encoding: .utf8)
    var found: [Range<UInt64>] = []
    var present: Range<UInt64>?
    for line in text.split(separator: "\n") {
      if line.hasPrefix("VmFlags:") {
        let flags = line.split(separator: " ")
        if let present, flags.contains("rd"), !flags.contains("dd"), !flags.contains("io") { found.append(present) }
        present = nil
      } else if let first = line.split(separator: " ").first, first.contains("-"), !first.contains(":") {
        let ends = first.split(separator: "-").compactMap { UInt64($0, radix: 16) }
        if ends.count == 2, ends[0] < ends[1], ends[1] <= UInt64(Int64.max) { present = ends[0]..<ends[1] }
      }
    }
    return found
  }
}
