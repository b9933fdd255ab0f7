/// Decides whether the bytes of one request move, from what is counted at one look and the next.
///
/// Bytes that the kernel takes are no measure of their own: it takes them in large pieces, and the last of them long
/// before they have left. Bytes that the peer acknowledges are one, as far as they are this request's: on a connection of
/// HTTP/2 those of other streams are not.
package struct SendProgress: Sendable, Equatable {
  private var acknowledged: UInt64 = 0
  /// All bytes of the request that the kernel has are among the first so many of the connection.
  private var end: UInt64 = 0
  private var given: Int64 = 0
  private var wasQueued = false

  package init() {}

  /// - Parameters:
  ///   - sent: what the kernel counts now.
  ///   - given: how many bytes of the request were given to the connection so far.
  ///   - isQueued: whether some of them still wait for the kernel to take them.
  /// - Returns: whether bytes of the request have moved since the look before.
  package mutating func look(_ sent: SentBytes, given: Int64, isQueued: Bool) -> Bool {
    let hasGiven = given > self.given
    // The bytes before a queued one have to leave first.
    let hasLeft = sent.acknowledged > acknowledged && (wasQueued || acknowledged < end)
    if hasGiven || isQueued || wasQueued { end = sent.acknowledged + sent.outstanding }
    acknowledged = sent.acknowledged
    self.given = given
    wasQueued = isQueued
    return hasGiven || hasLeft
  }
}
