import NIOCore
import SystemServices

/// The places where HTTP/3 did not work lately: on networks that drop UDP, each request would wait for nothing. The time in
/// which the machine sleeps counts. A value: the time is passed in.
package struct HTTP3Outages: Sendable {
  private struct Outage {
    var until: BootInstant
    var pause: TimeAmount
  }

  private var outages: [QUICEndpoint: Outage] = [:]

  private static let firstPause = TimeAmount.minutes(5)
  private static let longestPause = TimeAmount.hours(24)
  /// Past so many all are forgotten: to find out again costs a short delay.
  private static let limit = 1_024

  package init() {}

  /// Whether a connection may be tried now.
  package func permits(_ endpoint: QUICEndpoint, at now: BootInstant) -> Bool {
    outages[endpoint].map { now >= $0.until } ?? true
  }

  /// No connection came about. The pause doubles with each failure in a row.
  package mutating func failed(_ endpoint: QUICEndpoint, at now: BootInstant) {
    if outages.count >= HTTP3Outages.limit, outages[endpoint] == nil { outages = [:] }
    let pause = outages[endpoint].map { min($0.pause * 2, HTTP3Outages.longestPause) } ?? HTTP3Outages.firstPause
    outages[endpoint] = Outage(until: now + pause, pause: pause)
  }

  package mutating func worked(_ endpoint: QUICEndpoint) { outages[endpoint] = nil }

  package mutating func removeAll() { outages = [:] }
}
