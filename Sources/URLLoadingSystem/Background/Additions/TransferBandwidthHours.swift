import TransferProtocol

/// A limit of bandwidth for some hours of each day, by the local time of the machine. Not part of Apple's API.
///
/// While the hours last it takes the place of the limit without hours (``URLSessionTask/transferBandwidthLimit``,
/// ``URLSessionConfiguration/transferBandwidthLimit``), so that nights can be faster than days. Of several for the same minute
/// the lowest counts.
public struct TransferBandwidthHours: Sendable, Hashable {
  private let hours: DailyHours

  /// The first minute, counted from midnight: 0 to 1,439.
  public var start: Int { hours.start }

  /// The minute before which the hours end, counted from midnight: 0 to 1,439. Where it comes before the start, the hours go on
  /// after midnight.
  public var end: Int { hours.end }

  /// How many bytes a second; fewer than 1,024 count as 1,024. nil: any number.
  public let bytesPerSecond: Int64?

  /// The hours from one time of the day up to another: `start: 22 * 60, end: 6 * 60` is the night.
  ///
  /// nil where both are the same time, or one is none of a day.
  ///
  /// - Parameters:
  ///   - start: minutes since midnight, 0 to 1,439.
  ///   - end: minutes since midnight, 0 to 1,440, where 1,440 is the end of the day.
  ///   - bytesPerSecond: how many bytes a second; nil: any number.
  public init?(start: Int, end: Int, bytesPerSecond: Int64?) {
    guard (0...1_440).contains(end), let hours = DailyHours(start: start, end: end % 1_440) else { return nil }
    (self.hours, self.bytesPerSecond) = (hours, bytesPerSecond)
  }

  /// nil for a limit without hours.
  fileprivate init?(_ limit: BandwidthLimit) {
    guard let hours = limit.hours else { return nil }
    (self.hours, bytesPerSecond) = (hours, limit.bytesPerSecond)
  }

  fileprivate var limit: BandwidthLimit { BandwidthLimit(bytesPerSecond: bytesPerSecond, hours: hours) }
}

extension [TransferBandwidthHours] {
  /// The same in a message.
  var limits: [BandwidthLimit] { map(\.limit) }

  init(_ limits: [BandwidthLimit]?) { self = (limits ?? []).compactMap { TransferBandwidthHours($0) } }
}

extension URLSessionTask {
  /// How many bytes a second the task may receive and send in some hours of each day; the first 24 count. Default: none.
  ///
  /// It may be changed at any time, also while the task runs. Limits of the session and of the user (`urlsession limit`) count
  /// beside it, and the lowest wins. Has no effect outside background sessions. Not part of Apple's API.
  public final var transferBandwidthHours: [TransferBandwidthHours] {
    get { read(\.transferBandwidthHours) { $0.transferBandwidthHours } }
    set { setHint(\.transferBandwidthHours) { $0.transferBandwidthHours = newValue } }
  }
}
