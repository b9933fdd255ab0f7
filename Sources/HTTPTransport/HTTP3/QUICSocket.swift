#if HTTP3
import CQUIC
import NIOCore
import NIOPosix

/// The socket of a QUIC connection: connected, so that only the server's datagrams arrive and the system says when nothing
/// listens there.
enum QUICSocket {
  static let largestDatagram = cquic_largest_datagram()

  /// Whether the kernel cuts one write into many datagrams, and joins many into one read.
  static let cutsWrites = System.supportsUDPSegmentationOffload
  private static let joinsReads = System.supportsUDPReceiveOffload

  /// Several joined datagrams in one read.
  private static let readBytes = 64 * 1024

  /// Reads in one turn of the loop. Where the kernel joins nothing, as where the server sends its datagrams one by one over the
  /// loopback interface, each read is one of them; a turn costs an acknowledgement and a chunk of the body on its way to the app.
  private static let mostReads: UInt = 64

  static func open(to address: SocketAddress, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
    var bootstrap = DatagramBootstrap(group: loop)
      .channelOption(.explicitCongestionNotification, value: true)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: joinsReads ? readBytes : 2 * 1024)
      )
      .channelOption(.maxMessagesPerRead, value: mostReads)
      .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
      .channelOption(.socketOption(.so_rcvbuf), value: 2 * 1024 * 1024)
      .channelOption(.socketOption(.so_sndbuf), value: 2 * 1024 * 1024)
      .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { channel.closeOnExec() } }
    if joinsReads {
      bootstrap = bootstrap.channelOption(.datagramReceiveOffload, value: true)
        .channelOption(.datagramReceiveSegmentSize, value: true)
    }
    return bootstrap.connect(to: address)
  }
}
#endif
