import Foundation
import HTTPSemantics

/// The outcome of a load once its response head is known; the body is still to be pulled. An object, because it is handed
/// from stage to stage.
package final class LoadedResponse {
  package let response: URLResponse
  /// The head as it came off the wire; nil unless the response came by HTTP.
  package let head: HTTPResponseHead?
  /// Of a response that came otherwise: a head that says of the resource, and of the part that is sent, what downloads
  /// must know to go on later.
  let downloadHead: HTTPResponseHead?
  package let body: LoadBody
  /// Whether the body's content codings are undone already, though the fields still name them.
  let isDecoded: Bool
  /// Whether the response was stored. Its fields, Set-Cookie among them, have been here before.
  let isStored: Bool
  /// The proof of the server that the end of the body completes; nil where there is none, or it is complete.
  let bodyProof: ProvenBody?
  /// The record of this hop; nil when no record is kept.
  package let record: TransactionRecord?

  package convenience init(
    response: URLResponse, head: HTTPResponseHead? = nil, downloadHead: HTTPResponseHead? = nil, body: LoadBody,
    record: TransactionRecord? = nil, isDecoded: Bool = false, isStored: Bool = false
  ) {
    self.init(
      response: response, head: head, downloadHead: downloadHead, body: body, bodyProof: nil, record: record,
      isDecoded: isDecoded, isStored: isStored)
  }

  private init(
    response: URLResponse, head: HTTPResponseHead?, downloadHead: HTTPResponseHead?, body: LoadBody,
    bodyProof: ProvenBody?, record: TransactionRecord?, isDecoded: Bool, isStored: Bool
  ) {
    self.response = response
    self.head = head
    self.downloadHead = downloadHead
    self.body = body
    self.bodyProof = bodyProof
    self.record = record
    self.isDecoded = isDecoded
    self.isStored = isStored
  }

  /// The same with another response or body. Filters that were added to the body stay where they are.
  func changed(
    response: URLResponse? = nil, head: HTTPResponseHead? = nil, body: LoadBody? = nil, bodyProof: ProvenBody? = nil
  ) -> LoadedResponse {
    LoadedResponse(
      response: response ?? self.response, head: head ?? self.head, downloadHead: downloadHead,
      body: body ?? self.body, bodyProof: bodyProof ?? self.bodyProof, record: record, isDecoded: isDecoded,
      isStored: isStored)
  }
}
