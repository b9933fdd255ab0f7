import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// What happened in one hop of a load: one request and its response, from the network or made up locally.
/// The source of `URLSessionTaskTransactionMetrics`. Confined to the load's loop until the load has ended.
package final class TransactionRecord {
  package enum FetchType: Sendable { case unknown, networkLoad, localCache }

  package let request: URLRequest
  package var response: URLResponse?
  package var fetchType: FetchType
  /// What the times are read by.
  package let anchor: DateAnchor
  package let fetchStart: NIODeadline
  /// When the answer was complete, for loads without an exchange.
  package var fetchEnd: NIODeadline?
  package var exchange: ExchangeRecord?
  /// How far the connection got that was not made.
  package var unfinishedConnection: ConnectionRecord?
  /// The request as it was sent; nil when none was.
  package var sentHead: HTTPRequestHead?
  package var sentFraming = RequestBodyFraming.none
  /// Size of the request body as the app gave it.
  package var requestBodyBytesBeforeEncoding: Int64 = 0
  /// Response body bytes as handed to the app.
  package var responseBodyBytesAfterDecoding: Int64 = 0

  package init(
    request: URLRequest, fetchType: FetchType, fetchStart: NIODeadline = .now(), anchor: DateAnchor = DateAnchor()
  ) {
    self.request = request
    self.anchor = anchor
    self.fetchType = fetchType
    self.fetchStart = fetchStart
  }
}
