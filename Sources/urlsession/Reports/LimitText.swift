import CommandLineOutput
import TransferProtocol

/// Limits in words.
enum LimitText {
  /// `1.0 MB/s between 08:00-18:00`
  static func text(_ limit: BandwidthLimit) -> String {
    let rate = limit.bytesPerSecond.map { ByteFormat.rate(Double($0)) } ?? "no limit"
    return limit.hours.map { "\(rate) between \($0)" } ?? rate
  }

  /// `session 1.0 MB/s, all 4.0 MB/s`
  static func text(_ limits: [TransferLimit]) -> String {
    limits.map { limit in
      let name =
        switch LimitScope(rawValue: limit.scope) {
        case .transfer: "transfer "
        case .session: "session "
        case .app: "program "
        case .service: "all "
        case nil: "\(limit.scope) "
        }
      return name + text(limit.limit)
    }.joined(separator: ", ")
  }
}
