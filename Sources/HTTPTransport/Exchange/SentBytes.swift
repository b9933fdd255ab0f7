import Glibc
import NIOCore

/// How many bytes a socket has sent, as the kernel counts them.
package struct SentBytes: Sendable, Equatable {
  /// Those that the other end has acknowledged.
  package var acknowledged: UInt64
  /// Those that the kernel has taken and that are not acknowledged yet.
  package var outstanding: UInt64

  package init(acknowledged: UInt64, outstanding: UInt64) {
    self.acknowledged = acknowledged
    self.outstanding = outstanding
  }

  /// nil for what is no TCP connection, for one over several paths, of which the kernel counts only the first, and on
  /// kernels that do not count. On the channel's loop.
  package static func of(_ channel: any Channel) -> SentBytes? {
    channel.eventLoop.assertInEventLoop()
    guard !MultipathTCP.isUsed(by: channel) else { return nil }
    return channel.withSocket { SentBytes(socket: $0) }.flatMap { $0 }
  }

  /// tcpi_bytes_acked of `tcp_info` in <linux/tcp.h>, since Linux 4.1, as the index of a field of 64 bits.
  private static let acknowledgedField = 15
  /// SIOCOUTQ of <linux/sockios.h>.
  private static let outstandingRequest: UInt = 0x5411

  private init?(socket: CInt) {
    var fields = [UInt64](repeating: 0, count: SentBytes.acknowledgedField + 1)
    var size = socklen_t(fields.count * MemoryLayout<UInt64>.size)
    let wanted = size
    guard getsockopt(socket, CInt(IPPROTO_TCP), TCP_INFO, &fields, &size) == 0, size == wanted else { return nil }
    var outstanding: CInt = 0
    guard ioctl(socket, SentBytes.outstandingRequest, &outstanding) == 0 else { return nil }
    self.init(acknowledged: fields[SentBytes.acknowledgedField], outstanding: UInt64(max(0, outstanding)))
  }
}
