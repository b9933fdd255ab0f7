import Glibc
import NIOCore

/// TCP over several paths at once (RFC 8684), as the kernel offers it.
enum MultipathTCP {
  /// IPPROTO_MPTCP of <linux/in.h>.
  private static let protocolNumber: CInt = 262
  /// TCP_IS_MPTCP of <linux/tcp.h>.
  private static let isMultipathOption: CInt = 43

  /// Whether the kernel makes such sockets: it may lack them, or `net.mptcp.enabled` may be 0.
  static let isSupported: Bool = {
    for family in [AF_INET, AF_INET6] {
      let descriptor = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), protocolNumber)
      guard descriptor >= 0 else { continue }
      close(descriptor)
      return true
    }
    return false
  }()

  /// Whether the other end agreed: else the connection has fallen back to plain TCP by itself. A kernel that can't say
  /// says no.
  static func isUsed(by channel: any Channel) -> Bool {
    let option = ChannelOptions.Types.SocketOption(
      level: NIOBSDSocket.OptionLevel(rawValue: CInt(IPPROTO_TCP)),
      name: NIOBSDSocket.Option(rawValue: isMultipathOption))
    return (try? channel.syncOptions?.getOption(option)) == 1
  }
}
