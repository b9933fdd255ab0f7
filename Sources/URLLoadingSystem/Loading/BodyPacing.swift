import Foundation

/// Says when the next bytes of a request's body are sent, and how many at a time. Asked on the load's event loop.
package protocol BodyPacing: AnyObject {
  /// At most so many bytes are sent at a time, one at least; nil: as many as there are.
  var largestPiece: Int? { get }
  /// Seconds until it is asked again, before which nothing is sent; 0: it may be sent now.
  var delay: TimeInterval { get }
  /// The wait that `delay` has asked for is over, or was broken off.
  func waitEnded()
  /// The connection has taken these bytes.
  func sent(_ bytes: Int)
}
