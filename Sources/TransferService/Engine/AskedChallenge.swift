import TransferProtocol

/// A question of a transfer's load that the app has not answered.
struct AskedChallenge {
  let challenge: PendingChallenge
  let transfer: TransferID
  let session: SessionID
  /// The connection over which the app was asked; nil until it takes pushes.
  var connection: UInt64?
}
