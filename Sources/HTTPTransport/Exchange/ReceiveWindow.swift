import Glibc
import NIOCore

/// How much the other side of a TCP connection may send before this side has read it.
package enum ReceiveWindow {
  /// More than the kernel gives.
  private static let unlimited: CInt = 1 << 26

  /// - Parameter bytes: nil for as many as the kernel finds right. What the other side may send already it may send still. On
  ///   the channel's loop.
  package static func limit(_ bytes: Int?, of channel: any Channel) {
    channel.withSocket { socket in
      var value = bytes.map { min(CInt(clamping: $0), unlimited) } ?? unlimited
      setsockopt(socket, CInt(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, socklen_t(MemoryLayout<CInt>.size))
    }
  }
}
