import Foundation
import HTTPSemantics

/// The outcome of a load once its response head is known; the body is still to be pulled. An object, because it is handed from
/// stage to stage.
package final class LoadedResponse {
  package var response: URLResponse
  /// The head as it came off the wire; nil unless the response came by HTTP.
  package var head: HTTPResponseHead?
  package var body: LoadBody
  /// Whether the body's content codings are undone already, though the fields still name them.
  var isDecoded = false
  /// Whether the response was stored. Its fields, Set-Cookie among them, have been here before.
  var isStored = false
  /// The record of this hop; nil when no record is kept.
  package var record: TransactionRecord?

  package init(
    response: URLResponse, head: HTTPResponseHead? = nil, body: LoadBody, record: TransactionRecord? = nil
  ) {
    self.response = response
    self.head = head
    self.body = body
    self.record = record
  }
}
