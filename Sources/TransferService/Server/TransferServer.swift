import Foundation
import HTTPTransport
import Logging
import NIOCore
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol

/// Listens on the service's socket, and accepts connections of processes that belong to this user, as the kernel says.
package final class TransferServer: Sendable {
  package enum Endpoint: Sendable, Equatable {
    /// A path where the socket is made, with mode 0600, and made again when it is gone. What is there already is removed.
    case path(String)
    /// A listening socket that the service manager made.
    case adopted(Int32)
  }

  private enum Listener {
    case own(ListeningSocket)
    case adopted(any Channel, FileLock?)
  }

  private let listener: Listener
  private let second: ListeningSocket?

  private init(_ listener: Listener, _ second: ListeningSocket?) {
    self.listener = listener
    self.second = second
  }

  /// - Parameters:
  ///   - lock: of the path, which is given back with the server; nil takes it.
  ///   - secondPath: a further path where the socket is made. While it is there, the first one is waited for.
  ///   - startAttempts: a file that another service opens when it starts. The path is looked at then.
  ///   - limits: Of all connections together, of those of a program, and of each.
  ///   - identify: Finds out which program is at the other end of a connection. It looks at the program's file, so it
  ///     is called on a thread that may block, and is not waited for without end.
  ///   - replaced: called when another process listens at the path, perhaps more than once.
  package static func start(
    at endpoint: Endpoint, lock: FileLock? = nil, secondPath: String? = nil, startAttempts: String? = nil,
    engine: TransferEngine, log: Logger, limits: ConnectionLimits = ConnectionLimits(),
    identify: @escaping @Sendable (PeerCredentials) throws -> PeerIdentity = { try PeerIdentity($0) },
    replaced: @escaping @Sendable () -> Void = {}
  ) async throws -> TransferServer {
    let (quota, peers) = (ConnectionQuota(limits), PeerLookUp(within: limits.timeForIdentification, identify))
    let bootstrap = bootstrap(limits: limits, quota: quota, peers: peers, log: log) { channel, peer in
      do { try quota.begin(peer.executable.path) } catch let exceeded as ConnectionQuota.Exceeded {
        return try refuse(channel, exceeded.refusal, because: exceeded, limits: limits, quota: quota, log: log)
      }
      channel.closeFuture.whenComplete { _ in quota.end(peer.executable.path) }
      let client = ClientConnection(
        id: ids.next(), peer: peer, channel: channel, engine: engine, limits: limits, quota: quota, log: log)
      try channel.pipeline.syncOperations.addHandler(client)
    }
    return try await listen(
      at: endpoint, lock: lock, secondPath: secondPath, startAttempts: startAttempts, log: log, replaced: replaced,
      bootstrap)
  }

  /// Listens for a service that can't serve yet: the first request of each connection is refused, and the connection closed.
  ///
  /// - Parameters: as those of `start`.
  ///   - refusal: made anew for each connection.
  static func startRefusing(
    at endpoint: Endpoint, lock: FileLock?, secondPath: String?, log: Logger,
    limits: ConnectionLimits = ConnectionLimits(), because refusal: @escaping @Sendable () -> Refusal
  ) async throws -> TransferServer {
    let quota = ConnectionQuota(limits)
    let peers = PeerLookUp(within: limits.timeForIdentification) { try PeerIdentity($0) }
    let bootstrap = bootstrap(limits: limits, quota: quota, peers: peers, log: log) { channel, _ in
      let refused = RefusedConnection(channel, timeLimit: limits.timeForRefusal, refusal)
      try channel.pipeline.syncOperations.addHandler(refused)
    }
    return try await listen(
      at: endpoint, lock: lock, secondPath: secondPath, startAttempts: nil, log: log, replaced: {}, bootstrap)
  }

  private static func listen(
    at endpoint: Endpoint, lock: FileLock?, secondPath: String?, startAttempts: String?, log: Logger,
    replaced: @escaping @Sendable () -> Void, _ bootstrap: @escaping @Sendable () -> ServerBootstrap
  ) async throws -> TransferServer {
    let listen = { @Sendable (descriptor: Int32) in try await bootstrap().withBoundSocket(descriptor).get() }
    let second = await openSecond(secondPath, log: log, listen: listen)
    do {
      switch endpoint {
      case .adopted(let descriptor):
        return TransferServer(.adopted(try await listen(descriptor), lock), second)
      case .path(let path):
        let socket = try await ListeningSocket.open(
          path, lock: lock, startAttempts: startAttempts, mayWait: second != nil, log: log, replaced: replaced,
          listen: listen)
        return TransferServer(.own(socket), second)
      }
    } catch {
      await second?.close()
      throw error
    }
  }

  /// A file system may have no sockets, and a service without this one is reached as long as there is the other.
  private static func openSecond(
    _ path: String?, log: Logger, listen: @escaping @Sendable (Int32) async throws -> any Channel
  ) async -> ListeningSocket? {
    guard let path else { return nil }
    do {
      return try await ListeningSocket.open(
        // The folder of the queue is made at the start of a service alone.
        path, lock: nil, startAttempts: nil, makesFolder: false, log: log,
        replaced: { log.warning("another process listens on \(path), and apps may ask that one") }, listen: listen)
    } catch {
      log.warning("there is no socket \(path), by which apps find the service without a runtime folder: \(error)")
      return nil
    }
  }

  /// - Parameter serve: called on the loop of each connection of this user's programs.
  private static func bootstrap(
    limits: ConnectionLimits, quota: ConnectionQuota, peers: PeerLookUp, log: Logger,
    serve: @escaping @Sendable (any Channel, PeerIdentity) throws -> Void
  ) -> @Sendable () -> ServerBootstrap {
    {
      ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 128)
        .childChannelOption(.writeBufferWaterMark, value: .init(low: 64 << 10, high: 1 << 20))
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            channel.closeOnExec()
            try quota.begin()
            channel.closeFuture.whenComplete { _ in quota.end() }
          }.flatMap {
            credentials(of: channel)
          }.flatMap { credentials in
            peers.peer(credentials, on: channel.eventLoop)
          }.flatMapThrowing { peer in
            try serve(channel, peer)
          }.flatMapErrorThrowing { error in
            guard let unknown = error as? PeerLookUp.NoAnswer else { throw error }
            return try refuse(channel, unknown.refusal, because: unknown, limits: limits, quota: quota, log: log)
          }.flatMapErrorThrowing { error in
            log.warning("a connection was refused: \(error)")
            throw error
          }
        }
    }
  }

  /// Has the app told the reason. Throws it where too many are being told theirs, which ends the connection.
  private static func refuse(
    _ channel: any Channel, _ refusal: Refusal, because error: any Error, limits: ConnectionLimits,
    quota: ConnectionQuota, log: Logger
  ) throws {
    channel.eventLoop.assertInEventLoop()
    guard quota.beginRefusal() else { throw error }
    log.warning("a connection was refused: \(error)")
    channel.closeFuture.whenComplete { _ in quota.endRefusal() }
    let refused = RefusedConnection(channel, timeLimit: limits.timeForRefusal) { refusal }
    try channel.pipeline.syncOperations.addHandler(refused)
  }

  /// Stops listening. Connections that are there stay.
  ///
  /// - Parameter unlocks: whether the locks of the paths that this server has taken itself are given back at once, and not with it.
  package func close(unlocking unlocks: Bool = false) async {
    switch listener {
    case .own(let socket): await socket.close(unlocking: unlocks)
    case .adopted(let channel, _): try? await channel.close().get()
    }
    await second?.close(unlocking: unlocks)
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
