import Glibc
import NIOCore

/// The options of a connection's socket. All of them are wishes: a kernel, a family or a kind of socket that does not
/// take one changes nothing for the connection.
enum SocketMarks {
  /// How many bytes the kernel takes beyond those it has sent. Progress of an upload is told, and its timer restarted, when
  /// the kernel takes bytes: without a limit it takes up to 4 MiB ahead, and then nothing for as long as a slow network
  /// needs to send them.
  static let unsentBytes = 128 * 1024

  /// Small writes leave at once, a peer that has gone without a word is noticed in two minutes instead of two hours, and
  /// the kernel takes little ahead.
  static func tune(_ channel: any Channel) {
    guard let options = channel.syncOptions else { return }
    set(options, CInt(IPPROTO_TCP), TCP_NODELAY, 1)
    set(options, SOL_SOCKET, SO_KEEPALIVE, 1)
    set(options, CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentBytes)
    for (name, value) in [(TCP_KEEPIDLE, 60), (TCP_KEEPINTVL, 15), (TCP_KEEPCNT, 4)] {
      set(options, CInt(IPPROTO_TCP), name, value)
    }
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
