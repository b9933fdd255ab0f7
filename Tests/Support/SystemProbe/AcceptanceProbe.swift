import Foundation

/// The server's side of an authentication whose first token is the last one, as with Kerberos without mutual
/// authentication.
struct AcceptanceProbe {
  private let options: [String: String]

  init(_ options: [String: String]) { self.options = options }

  /// Prints `NAME` of the initiator, with `bound` in front where it has named the same channel, or why it is refused.
  ///
  /// Options: `token`, and the hash of the channel's certificate, `certificate`; both are base64.
  func accept() {
    guard let token = options["token"].flatMap({ Data(base64Encoded: $0) }),
      let acceptor = GSSAcceptor(bindings: options["certificate"].flatMap { Data(base64Encoded: $0) }.map { Array($0) })
    else { return SystemProbe.say("no token, or no library") }
    do {
      _ = try acceptor.accept(Array(token))
      SystemProbe.say(
        acceptor.isComplete ? (acceptor.isBound ? "bound " : "") + (try acceptor.initiator()) : "not done")
    } catch { SystemProbe.say("\(error)") }
  }
}
