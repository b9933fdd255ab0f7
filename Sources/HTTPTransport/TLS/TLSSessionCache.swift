import CTLSSessions
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The TLS sessions that servers gave for the next handshake with them, which is then shorter and needs no certificates
/// (RFC 8446 §2.2, RFC 5077).
///
/// One belongs to each session, and nothing of it is stored. Connections about which an app may be asked take no part in
/// it, since a resumed handshake shows no certificate to judge; nor do those whose server asked who the client is.
/// SwiftNIO's TLS library has the functions for it and no Swift interface to them: the handles are looked up in its
/// objects, and where they are not found, every handshake is a full one.
final class TLSSessionCache: Sendable {
  /// All that two connections must have in common so that one may resume the session of the other.
  struct Key: Hashable, Sendable {
    let host: String
    let port: Int
    let protocols: [String]
    let minimumVersion: UInt16?
    let requiresForwardSecrecy: Bool
    /// Whether the library judged the server instead of a client of the handshake.
    let isUnattended: Bool
    let identity: ConnectionIdentity
    /// Whether it is about connections that belong together, whose server wants to see a session again. The last one of
    /// these is never used up.
    var isOfConversation = false
  }

  /// One session of the library, freed with this. Its handle is not changed.
  fileprivate final class Session: Sendable {
    nonisolated(unsafe) let handle: UnsafeMutableRawPointer
    init(_ handle: UnsafeMutableRawPointer) { self.handle = handle }
    deinit { ctls_free_session(handle) }
  }

  fileprivate struct Sessions {
    var ofKey: [Key: [Session]] = [:]
    /// The least recently used first.
    var order: [Key] = []
  }

  private static let maximumKeys = 256
  /// Servers give two or more at once, for connections made at the same time.
  private static let maximumSessionsPerKey = 4

  private let sessions = NIOLockedValueBox(Sessions())

  /// Which connection belongs to which cache: the library calls a plain function, with its own handle of the connection.
  private struct Registration: Sendable {
    weak let cache: TLSSessionCache?
    let key: Key
    let mayKeep: @Sendable () -> Bool
  }
  private static let registrations = NIOLockedValueBox<[UInt: Registration]>([:])

  /// Has the connections of a context tell of the sessions that they are given. Before any of them is made.
  static func prepare(_ context: NIOSSLContext) {
    guard let settings = LibraryHandles.context(context) else { return }
    ctls_keep_sessions(settings) { connection, session in
      guard let connection, let session else { return 0 }
      let registration = TLSSessionCache.registrations.withLockedValue { $0[UInt(bitPattern: connection)] }
      guard let registration, let cache = registration.cache, registration.mayKeep() else { return 0 }
      cache.keep(Session(session), for: registration.key)
      return 1
    }
  }

  /// Shows on the connection of `handler` what an earlier one was given, and keeps what this one is given until
  /// `channel` closes. Before the handler is in the pipeline, on the loop.
  ///
  /// - Parameter mayKeep: Asked when there is something to keep.
  func attach(
    _ handler: NIOSSLClientHandler, key: Key, channel: any Channel,
    mayKeep: @escaping @Sendable () -> Bool
  ) {
    guard ctls_sessions_are_available() != 0, let connection = LibraryHandles.connection(handler) else { return }
    let number = UInt(bitPattern: connection)
    TLSSessionCache.registrations.withLockedValue { $0[number] = Registration(cache: self, key: key, mayKeep: mayKeep) }
    channel.closeFuture.assumeIsolated().whenComplete { _ in
      // The handler keeps the connection's handle from being given to another one until here.
      withExtendedLifetime(handler) { TLSSessionCache.registrations.withLockedValue { $0[number] = nil } }
    }
    let offer = {
      if let session = self.take(for: key) { ctls_resume(connection, session.handle) }
    }
    // A session for one use is not spent on an attempt that never connects, such as that to the other family of addresses.
    if channel.isActive { offer() } else { try? channel.pipeline.syncOperations.addHandler(ConnectedHandler(offer)) }
  }

  /// Whether the handshake on the connection of `handler` was a short one.
  static func wasResumed(_ handler: NIOSSLClientHandler) -> Bool {
    LibraryHandles.connection(handler).map { ctls_was_resumed($0) != 0 } ?? false
  }

  func removeAll() { sessions.withLockedValue { $0 = Sessions() } }

  private func keep(_ session: Session, for key: Key) {
    sessions.withLockedValue { sessions in
      sessions.touch(key)
      sessions.ofKey[key, default: []].append(session)
      if sessions.ofKey[key, default: []].count > TLSSessionCache.maximumSessionsPerKey {
        sessions.ofKey[key]?.removeFirst()
      }
      if sessions.order.count > TLSSessionCache.maximumKeys { sessions.ofKey[sessions.order.removeFirst()] = nil }
    }
  }

  /// The newest: of those for one use, each is handed out once.
  private func take(for key: Key) -> Session? {
    sessions.withLockedValue { sessions in
      guard let newest = sessions.ofKey[key]?.last else { return nil }
      sessions.touch(key)
      let isLast = sessions.ofKey[key]?.count == 1
      if ctls_is_for_one_use(newest.handle) != 0, !(key.isOfConversation && isLast) {
        sessions.ofKey[key]?.removeLast()
      }
      return newest
    }
  }
}

extension TLSSessionCache.Sessions {
  mutating func touch(_ key: TLSSessionCache.Key) {
    order.removeAll { $0 == key }
    order.append(key)
  }
}

/// Does something when its channel is connected, before the handlers behind it hear of that.
private final class ConnectedHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let action: () -> Void

  init(_ action: @escaping () -> Void) { self.action = action }

  func channelActive(context: ChannelHandlerContext) {
    action()
    context.fireChannelActive()
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}
