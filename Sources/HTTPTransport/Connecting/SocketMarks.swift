import Glibc
import NIOCore

/// The options of a connection's socket. All of them are wishes: a kernel, a family or a kind of socket that does not
/// take one changes nothing for the connection.
enum SocketMarks {
  /// How many bytes the kernel takes beyond those it has sent. Progress of an upload is told, and its timer restarted, when
  /// the kernel takes bytes: without a limit it takes up to 4 MiB ahead, and then nothing for as long as a slow network
  /// needs to send them.
  static let unsentBytes = 128 * 1024

  /// A program that this process starts does not inherit the socket, a peer that has gone without a word is noticed in two
  /// minutes instead of two hours, and the kernel takes little ahead. Small writes leave at once by the bootstrap's own settings.
  static func tune(_ channel: any Channel) {
    // Setting options through the channel tells them apart by casts, which take several times as long as the system call.
    channel.withSocket { socket in
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
      set(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
      let tcp = CInt(IPPROTO_TCP)
      set(socket, tcp, TCP_NOTSENT_LOWAT, CInt(unsentBytes))
      set(socket, tcp, TCP_KEEPIDLE, 60)
      set(socket, tcp, TCP_KEEPINTVL, 15)
      set(socket, tcp, TCP_KEEPCNT, 4)
    }
  }

  private static func set(_ socket: NIOBSDSocket.Handle, _ level: CInt, _ name: CInt, _ value: CInt) {
    var value = value
    setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  static func mark(_ channel: any Channel, _ trafficClass: TrafficClass) {
    guard trafficClass != .bestEffort, let options = channel.syncOptions else { return }
    let field = Int(trafficClass.dscp) << 2
    set(options, CInt(IPPROTO_IP), IP_TOS, field)
    set(options, CInt(IPPROTO_IPV6), IPV6_TCLASS, field)
    set(options, SOL_SOCKET, SO_PRIORITY, Int(trafficClass.priority))
  }

  private static func set(_ options: any NIOSynchronousChannelOptions, _ level: CInt, _ name: CInt, _ value: Int) {
    let option = ChannelOptions.Types.SocketOption(
      level: NIOBSDSocket.OptionLevel(rawValue: level), name: NIOBSDSocket.Option(rawValue: name))
    try? options.setOption(option, value: numericCast(value))
  }
}
