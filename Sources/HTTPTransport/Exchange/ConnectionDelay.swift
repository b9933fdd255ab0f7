import Glibc
import NIOCore

/// The time that bytes take over a connection, as the kernel measures it.
package enum ConnectionDelay {
  /// The way of most bytes.
  package enum Direction: Sendable { case sending, receiving }

  /// Fields of 32 bits of `tcp_info` in <linux/tcp.h>, by index: microseconds.
  private enum Field {
    static let roundTrip = 17
    /// Measured by the side that receives, from its acknowledgements to what they let the other side send.
    static let receiverRoundTrip = 23
    static let count = 24
    /// Since Linux 4.6: the shortest of the last minutes.
    static let shortestRoundTrip = 37
  }

  /// Seconds of a round trip, queues on the way included. The measure of the side that sends is kept up by the
  /// acknowledgements of its bytes. Where the other side sends, only the receiver's measure goes on; before there is one, it is
  /// that of the handshake. nil for what is no TCP connection. On the channel's loop.
  package static func roundTrip(of channel: any Channel, _ direction: Direction) -> Double? {
    channel.withSocket { roundTrip(ofSocket: $0, direction) }.flatMap { $0 }
  }

  private static func roundTrip(ofSocket socket: CInt, _ direction: Direction) -> Double? {
    guard let fields = fields(Field.count, ofSocket: socket) else { return nil }
    let isReceivers = direction == .receiving && fields[Field.receiverRoundTrip] > 0
    let microseconds = fields[isReceivers ? Field.receiverRoundTrip : Field.roundTrip]
    return microseconds > 0 ? Double(microseconds) / 1e6 : nil
  }

  /// The shortest round trip of the last minutes, so one with few queues on the way; nil for what is no TCP connection, and on
  /// kernels that do not tell. On the channel's loop.
  package static func shortestRoundTrip(of channel: any Channel) -> TimeAmount? {
    channel.withSocket { socket in
      guard let microseconds = fields(Field.shortestRoundTrip + 1, ofSocket: socket)?[Field.shortestRoundTrip],
        microseconds > 0, microseconds < .max
      else { return nil }
      return .microseconds(Int64(microseconds))
    }.flatMap { $0 }
  }

  private static func fields(_ count: Int, ofSocket socket: CInt) -> [UInt32]? {
    var fields = [UInt32](repeating: 0, count: count)
    var size = socklen_t(fields.count * MemoryLayout<UInt32>.size)
    let wanted = size
    guard getsockopt(socket, CInt(IPPROTO_TCP), TCP_INFO, &fields, &size) == 0, size == wanted else { return nil }
    return fields
  }
}
