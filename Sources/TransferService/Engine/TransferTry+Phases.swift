import Foundation
import TransferProtocol

extension TransferTry {
  /// Of how many requests of a try the phases are kept: the latest.
  static let requestsWithPhases = 8

  /// The phases of requests, oldest first. A phase without a beginning or an end is left out: a connection that was there has
  /// none, and what broke off has no end.
  ///
  /// - Parameter began: the beginning of the try.
  static func phases(of requests: [TransactionDescription], since began: Date) -> [Phase] {
    requests.suffix(requestsWithPhases).flatMap { request -> [Phase] in
      let times = request.times
      let spans: [(Phase.Name, Date?, Date?)] = [
        (.lookup, times.domainLookupStart, times.domainLookupEnd),
        (.connect, times.connectStart, times.secureConnectionStart ?? times.connectEnd),
        (.tls, times.secureConnectionStart, times.secureConnectionEnd),
        (.request, times.requestStart, times.requestEnd),
        (.wait, times.requestEnd, times.responseStart),
        (.response, times.responseStart, times.responseEnd),
      ]
      return spans.compactMap { name, start, end -> Phase? in
        guard let start, let end, end >= start else { return nil }
        return Phase(name, at: max(0, start.timeIntervalSince(began)), duration: end.timeIntervalSince(start))
      }
    }
  }
}
