/// The transfers, as the server of the web page asks for them. Documents are JSON.
package protocol WebPageSource: Sendable {
  /// All transfers, and every change from then on. Ends when the reader is too slow; a new call begins again.
  ///
  /// - Throws: `WebRefusal` when there are too many readers.
  func updates() throws -> AsyncStream<WebUpdate>
  /// All transfers as they are now.
  func snapshot() throws -> [UInt8]
  /// The tries of a transfer.
  ///
  /// - Throws: `WebRefusal` when there is no such transfer.
  func tries(of transfer: Int64) async throws -> [UInt8]
  /// - Throws: `WebRefusal` with the reason for which it can't be done.
  func perform(_ action: WebAction) async throws
  /// In the text format of Prometheus.
  func metrics() -> String
}

/// One event of the stream that the page reads.
package struct WebUpdate: Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// All transfers.
    case snapshot
    /// One transfer.
    case transfer
    /// The numbers of transfers that are over and no longer shown.
    case removed
  }

  package var kind: Kind
  package var document: [UInt8]

  package init(_ kind: Kind, _ document: [UInt8]) {
    self.kind = kind
    self.document = document
  }
}

package enum WebAction: Sendable, Equatable {
  case pause(Int64)
  case resume(Int64)
  /// Ends the wait for the next try.
  case retry(Int64)
  case cancel(Int64)
  /// Of all transfers together, in bytes per second; nil: none.
  case limit(Int64?)
  /// Of one transfer.
  case limitTransfer(Int64, Int64?)
}

/// A request that is answered with an error.
package struct WebRefusal: Error, Sendable, Equatable {
  /// Of HTTP.
  package var status: Int
  package var sentence: String

  package init(status: Int, _ sentence: String) {
    self.status = status
    self.sentence = sentence
  }
}
