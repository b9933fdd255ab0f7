import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol

/// Listens on the service's socket, and accepts connections of processes that belong to this user, as the kernel says.
package final class TransferServer: Sendable {
  package enum Endpoint: Sendable, Equatable {
    /// A path where the socket is made, with mode 0600. What is there already is removed: the caller has the lock,
    /// so no other service uses it.
    case path(String)
    /// A listening socket that the service manager made.
    case adopted(Int32)
  }

  private let channel: any Channel
  private let path: String?

  private init(channel: any Channel, path: String?) {
    self.channel = channel
    self.path = path
  }

  /// - Parameters:
  ///   - limits: Of all connections together, of those of a program, and of each.
  ///   - identify: Finds out which program is at the other end of a connection. It reads files of the kernel, so it
  ///     is called on a thread that may block.
  package static func start(
    at endpoint: Endpoint, engine: TransferEngine, log: Logger,
    limits: ConnectionLimits = ConnectionLimits(),
    identify: @escaping @Sendable (PeerCredentials) throws -> PeerIdentity = { try PeerIdentity($0) }
  ) async throws -> TransferServer {
    let quota = ConnectionQuota(limits)
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 128)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 64 << 10, high: 1 << 20))
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try quota.begin()
          channel.closeFuture.whenComplete { _ in quota.end() }
        }.flatMap {
          credentials(of: channel)
        }.flatMap { credentials in
          NIOThreadPool.singleton.runIfActive(eventLoop: channel.eventLoop) { try identify(credentials) }
        }.flatMapThrowing { peer in
          try quota.begin(peer.executable.path)
          channel.closeFuture.whenComplete { _ in quota.end(peer.executable.path) }
          let client = ClientConnection(
            id: ids.next(), peer: peer, channel: channel, engine: engine, limits: limits, quota: quota, log: log)
          try channel.pipeline.syncOperations.addHandler(client)
        }.flatMapErrorThrowing { error in
          log.warning("a connection was refused: \(error)")
          throw error
        }
      }
    switch endpoint {
    case .adopted(let descriptor):
      return TransferServer(channel: try await bootstrap.withBoundSocket(descriptor).get(), path: nil)
    case .path(let path):
      try await NIOThreadPool.singleton.runIfActive {
        try PrivateDirectory.ensure((path as NSString).deletingLastPathComponent)
        try LinuxFileSystem().remove(path)
      }
      let channel = try await bootstrap.bind(unixDomainSocketPath: path).get()
      // The folder is closed to others, so there was no moment at which the socket was open to them.
      guard chmod(path, 0o600) == 0 else { throw SystemError(errno, "chmod", path: path) }
      return TransferServer(channel: channel, path: path)
    }
  }

  /// Stops listening. Connections that are there stay.
  package func close() async {
    if let path { try? LinuxFileSystem().remove(path) }
    try? await channel.close().get()
  }

  private static let ids = Counter()

  private final class Counter: Sendable {
    private let last = Atomic<UInt64>(0)
    func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
  }

  private static func credentials(of channel: any Channel) -> EventLoopFuture<PeerCredentials> {
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }
    return provider.unsafeGetSocketOption(
      level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET), name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
  }
}
