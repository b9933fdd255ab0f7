/// The treatment of a server that can't go on with an upload now: it answers 408, 429 or 5xx to a request that asks for the
/// offset or sends the rest. Those requests are the upload's own, and not its app's, so the answer is none to the app.
package enum BusyServerPolicy: Sendable {
  /// The server is asked again a few times; then the upload fails, and can be resumed later.
  case asksAgain
  /// The try ends with a `PassingRefusal`, which says when the server may be asked again. The server keeps what it has.
  case endsTheTry
  /// The answer to a request that sends the rest is that to the upload. To one that asks for the offset: as `asksAgain`.
  case answers
}
