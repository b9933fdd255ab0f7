/// Numbers of bytes and seconds as people read them.
package enum ByteFormat {
  /// `512 B`, `1.5 KB`, `200 MB`: powers of 1000, three digits at most.
  package static func bytes(_ count: Int64) -> String {
    guard count >= 1000 else { return "\(max(0, count)) B" }
    var value = Double(count)
    var unit = "B"
    for next in ["KB", "MB", "GB", "TB", "PB", "EB"] where value >= 999.5 {
      value /= 1000
      unit = next
    }
    return "\(short(value)) \(unit)"
  }

  /// `12.3 MB/s`
  package static func rate(_ bytesPerSecond: Double) -> String {
    guard bytesPerSecond.isFinite else { return "- B/s" }
    return bytes(Int64(min(max(0, bytesPerSecond), 9e18))) + "/s"
  }

  /// `0:07`, `12:34`, `3:05:00`, `9 d 3 h`; `-:--` when it is not known.
  package static func duration(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "-:--" }
    let total = Int(seconds.rounded())
    let (hours, minutes, rest) = (total / 3600, total / 60 % 60, total % 60)
    if hours >= 24 { return "\(hours / 24) d \(hours % 24) h" }
    if hours > 0 { return "\(hours):\(padded(minutes)):\(padded(rest))" }
    return "\(minutes):\(padded(rest))"
  }

  /// How long something took: `0.3 s`, `12.8 s`, `2:05`.
  package static func elapsed(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 59.95 else { return duration(seconds) }
    let tenths = Int((seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
  }

  private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func short(_ value: Double) -> String {
    if value >= 99.95 { return "\(Int(value.rounded()))" }
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
