/// What a server does with a connection the moment it is accepted.
package enum ConnectionGreeting: Sendable {
  /// Speaks TLS if it has an identity, and HTTP.
  case serve
  /// Closes it at once (FIN).
  case close
  /// Resets it at once (RST).
  case reset
  /// Neither reads nor writes: a connection that opens and then hangs, before TLS says a word.
  case stall
}
