import SystemServices

/// Authenticates to an acceptor in the same process.
struct NegotiationProbe {
  private let options: [String: String]

  init(_ options: [String: String]) { self.options = options }

  /// Prints whether there is a ticket.
  func findTicket() async {
    SystemProbe.say("\(await GSSAPI.hasTicket())")
  }

  /// Exchanges tokens until both sides are done. Prints `complete as NAME`, or which side failed.
  ///
  /// Options: `mechanism`, `host`, `user` and `password`, `bindings` of the initiator and `accepted-bindings` of the
  /// acceptor, `limit` in milliseconds; `garbage` answers the first token with bytes that are none; `mutual=no`.
  func negotiate() async {
    do {
      let context = try initiator()
      guard let acceptor = GSSAcceptor(bindings: options["accepted-bindings"].map { Array($0.utf8) }) else {
        return SystemProbe.say("no library")
      }
      var step = try await context.step()
      if options["garbage"] != nil { step = try await context.step(Array("garbage".utf8)) }
      while true {
        let reply = try acceptor.accept(step.token)
        if !reply.isEmpty, !step.isComplete {
          step = try await context.step(reply)
        }
        if step.isComplete, acceptor.isComplete { break }
        guard !step.token.isEmpty else { return SystemProbe.say("stopped in the middle") }
      }
      SystemProbe.say("complete as \(try acceptor.initiator())")
      do {
        _ = try await context.step()
        SystemProbe.say("a complete context went on")
      } catch GSSError.notUsable {
      }
    } catch let error as GSSError {
      SystemProbe.say("\(error.isMissingCredential ? "no credential" : "failed"): \(error)")
    } catch {
      SystemProbe.say("\(error)")
    }
  }

  private func initiator() throws -> GSSContext {
    let mechanism: GSSMechanism =
      switch options["mechanism"] {
      case "kerberos": .kerberos
      case "ntlm": .ntlm
      default: .negotiate
      }
    let credential = try options["user"].map {
      GSSCredential(user: $0, password: try SecretBytes(options["password"] ?? ""))
    }
    return GSSContext(
      mechanism, host: options["host"] ?? "localhost", credential: credential,
      channelBindings: options["bindings"].map { .tlsServerEndPoint(hash: Array($0.utf8)) },
      requestsMutualAuthentication: options["mutual"] != "no",
      limit: .milliseconds(options["limit"].flatMap { Int($0) } ?? 90_000))
  }
}
