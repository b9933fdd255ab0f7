import Foundation

extension HARLog.Timings {
  init(_ transaction: URLSessionTaskTransactionMetrics) {
    self.init(
      blocked: -1, dns: Self.span(transaction.domainLookupStartDate, transaction.domainLookupEndDate) ?? -1,
      connect: Self.span(transaction.connectStartDate, transaction.connectEndDate) ?? -1,
      ssl: Self.span(transaction.secureConnectionStartDate, transaction.secureConnectionEndDate) ?? -1,
      // The format wants a number for these three, also where nothing was sent or received.
      send: Self.span(transaction.requestStartDate, transaction.requestEndDate) ?? 0,
      wait: Self.span(transaction.requestEndDate, transaction.responseStartDate) ?? 0,
      receive: Self.span(transaction.responseStartDate, transaction.responseEndDate) ?? 0)
    let last = [
      transaction.fetchStartDate, transaction.domainLookupStartDate, transaction.domainLookupEndDate,
      transaction.connectStartDate, transaction.secureConnectionStartDate, transaction.connectEndDate,
      transaction.requestStartDate, transaction.requestEndDate, transaction.responseStartDate,
      transaction.responseEndDate,
    ].compactMap { $0 }.max()
    if let all = Self.span(transaction.fetchStartDate, last) { blocked = Self.rounded(max(0, all - total)) }
  }

  /// Milliseconds between two dates, to the microsecond; nil unless both are there.
  private static func span(_ start: Date?, _ end: Date?) -> Double? {
    guard let start, let end else { return nil }
    return rounded(max(0, end.timeIntervalSince(start) * 1000))
  }

  private static func rounded(_ milliseconds: Double) -> Double { (milliseconds * 1000).rounded() / 1000 }
}
