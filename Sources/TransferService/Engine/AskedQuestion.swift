import TransferProtocol

/// A question about a transfer that the app has not answered.
struct AskedQuestion {
  enum Subject {
    /// The transfer's load waits for the answer.
    case challenge(PendingChallenge)
    /// How the transfer begins, now that its date has come.
    case delayedRequest
  }

  let subject: Subject
  let transfer: TransferID
  let session: SessionID
  /// The connection over which the app was asked; nil until it takes pushes.
  var connection: UInt64?
}
