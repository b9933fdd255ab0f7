/// The answer of an app to a `DelayedRequestQuestion`.
package struct DelayedRequestAnswered: Codable, Sendable, Equatable {
  package enum Disposition: Codable, Sendable, Equatable {
    /// The task begins with the request that it has.
    case continueLoading
    /// The task begins with this one. The networks that it may use, and the file that an upload sends, stay.
    case useNewRequest(RequestDescription)
    /// The task ends with `URLError.cancelled`.
    case cancel
    /// The task ends with this: the delegate's request is none that a background task can have.
    case fail(TransferFailure)
  }

  package var session: String
  package var number: UInt64
  package var disposition: Disposition

  package init(session: String, number: UInt64, disposition: Disposition) {
    self.session = session
    self.number = number
    self.disposition = disposition
  }
}
