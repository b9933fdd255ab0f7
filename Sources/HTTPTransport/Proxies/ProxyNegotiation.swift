import NIOCore

/// The conversation with a proxy before bytes pass through it. No socket: bytes go in and come out.
package protocol ProxyNegotiation {
  /// The first words.
  mutating func begin() throws(ProxyFailure) -> ProxyNegotiationStep
  /// Reads what has arrived; consumed bytes are taken from `input`. Called again while it returns `.send`.
  mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep
  /// Goes on with the answer to `.ask`.
  mutating func answered(_ answer: String?) throws(ProxyFailure) -> ByteBuffer
  /// The failure of a connection that the proxy closes now, without another word.
  var causeOfEnd: ProxyFailure.Cause { get }
}

extension ProxyNegotiation {
  package mutating func answered(_ answer: String?) throws(ProxyFailure) -> ByteBuffer { ByteBuffer() }
  package var causeOfEnd: ProxyFailure.Cause { .silent }
}

package enum ProxyNegotiationStep {
  case needsMore
  case send(ByteBuffer)
  /// The same with a password, in a buffer of its own, which is zeroed once it is sent.
  case sendSecret(ByteBuffer)
  /// The client has to be asked. Nothing is read meanwhile.
  case ask(@Sendable () async -> String?)
  /// From here on bytes are the server's, not the proxy's.
  case done
}

/// Nothing to say: requests are put to the proxy itself.
struct NoNegotiation: ProxyNegotiation {
  mutating func begin() throws(ProxyFailure) -> ProxyNegotiationStep { .needsMore }
  mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep { .done }
}
