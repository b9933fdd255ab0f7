import Glibc
import NIOCore

/// How much the other side of a TCP connection may send before this side has read it.
package enum ReceiveWindow {
  /// More than the kernel gives.
  private static let unlimited: CInt = 1 << 26

  /// False before Linux 6.7. Since 5.15 a limit that is set while the window is closed kept it closed for ever, unless a distributor
  /// has mended that, which the kernel's number does not tell; before, a limit changed nothing once bytes had come.
  package static let canBeLimited: Bool = {
    var name = utsname()
    guard uname(&name) == 0 else { return false }
    return withUnsafeBytes(of: name.release) {
      canBeLimited(byKernel: String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self))
    }
  }()

  static func canBeLimited(byKernel release: String) -> Bool {
    let numbers = release.split { !$0.isNumber }.prefix(2).map { Int($0) ?? 0 }
    return !numbers.lexicographicallyPrecedes([6, 7])
  }

  /// - Parameter bytes: nil for as many as the kernel finds right. What the other side may send already it may send still. On
  ///   the channel's loop.
  package static func limit(_ bytes: Int?, of channel: any Channel) {
    guard canBeLimited else { return channel.eventLoop.assertInEventLoop() }
    channel.withSocket { socket in
      var value = bytes.map { min(CInt(clamping: $0), unlimited) } ?? unlimited
      setsockopt(socket, CInt(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, socklen_t(MemoryLayout<CInt>.size))
    }
  }
}
