import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// A record of one hop of a load: one request and its response, from the network or made up locally.
/// The source of `URLSessionTaskTransactionMetrics`. Changed on the load's loop alone, and read elsewhere only once the load
/// has ended.
@dynamicMemberLookup
package final class TransactionRecord {
  package enum FetchType: Sendable { case unknown, networkLoad, localCache }

  /// The record as it is at one moment.
  package struct Contents: Sendable {
    package let request: URLRequest
    package var response: URLResponse?
    package var fetchType: FetchType
    /// The anchor by which the times are read as dates.
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
  }

  package private(set) var contents: Contents
  /// The loop of the load; nil without one.
  private let loop: (any EventLoop)?

  package init(
    request: URLRequest, fetchType: FetchType, fetchStart: NIODeadline = .now(), anchor: DateAnchor = DateAnchor(),
    on loop: (any EventLoop)? = nil
  ) {
    self.loop = loop
    contents = Contents(request: request, fetchType: fetchType, anchor: anchor, fetchStart: fetchStart)
  }

  package subscript<Value>(dynamicMember member: KeyPath<Contents, Value>) -> Value { contents[keyPath: member] }

  package subscript<Value>(dynamicMember member: WritableKeyPath<Contents, Value>) -> Value {
    get { contents[keyPath: member] }
    set {
      loop?.assertInEventLoop()
      contents[keyPath: member] = newValue
    }
  }
}
