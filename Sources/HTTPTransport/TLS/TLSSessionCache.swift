import CTLSSessions
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// What servers gave for the next handshake with them, which is then shorter and needs no certificates
/// (RFC 8446 §2.2, RFC 5077).
///
/// One belongs to each session, and nothing of it is stored. Connections about which an app may be asked take no part in
/// it, since a resumed handshake shows no certificate to judge; nor do those whose server asked who the client is.
/// SwiftNIO's TLS library has the functions for it and no Swift interface to them: the handles are looked up in its
/// objects, and where they are not found, every handshake is a full one.
final class TLSSessionCache: Sendable {
  /// What two connections must have in common so that one may go on with what the other was given.
  struct Key: Hashable, Sendable {
    let host: String
    let port: Int
    let protocols: [String]
    let minimumVersion: UInt16?
    let requiresForwardSecrecy: Bool
    /// Whether the library judged the server instead of a client of the handshake.
    let isUnattended: Bool
  }

  /// One session of the library, freed with this.
  fileprivate final class Ticket: @unchecked Sendable {
    let session: UnsafeMutableRawPointer
    init(_ session: UnsafeMutableRawPointer) { self.session = session }
    deinit { ctls_free_session(session) }
  }

  fileprivate struct Tickets {
    var ofKey: [Key: [Ticket]] = [:]
    /// The least recently used first.
    var order: [Key] = []
  }

  private static let maximumKeys = 256
  /// Servers give two or more at once, for connections made at the same time.
  private static let maximumTicketsPerKey = 4

  private let tickets = NIOLockedValueBox(Tickets())

  /// Which connection belongs to which cache: the library calls a plain function, with its own handle of the connection.
  private struct Place: Sendable {
    weak let cache: TLSSessionCache?
    let key: Key
    let mayKeep: @Sendable () -> Bool
  }
  private static let places = NIOLockedValueBox<[UInt: Place]>([:])

  /// Shows on the connection of `handler` what an earlier one was given, and keeps what this one is given until
  /// `channel` closes. Before the handler is in the pipeline, on the loop.
  ///
  /// - Parameter mayKeep: Asked when there is something to keep.
  func attach(
    _ handler: NIOSSLClientHandler, of context: NIOSSLContext, key: Key, channel: any Channel,
    mayKeep: @escaping @Sendable () -> Bool
  ) {
    guard ctls_sessions_are_available() != 0, let settings = LibraryHandles.context(context),
      let connection = LibraryHandles.connection(handler)
    else { return }
    ctls_keep_sessions(settings) { connection, session in
      guard let connection, let session else { return 0 }
      let place = TLSSessionCache.places.withLockedValue { $0[UInt(bitPattern: connection)] }
      guard let place, let cache = place.cache, place.mayKeep() else { return 0 }
      cache.keep(Ticket(session), for: place.key)
      return 1
    }
    let place = UInt(bitPattern: connection)
    TLSSessionCache.places.withLockedValue { $0[place] = Place(cache: self, key: key, mayKeep: mayKeep) }
    channel.closeFuture.assumeIsolated().whenComplete { _ in
      // The handler keeps the connection's handle from being given to another one until here.
      withExtendedLifetime(handler) { TLSSessionCache.places.withLockedValue { $0[place] = nil } }
    }
    let offer = {
      if let ticket = self.take(for: key) { ctls_resume(connection, ticket.session) }
    }
    // What is good for one use is not for an attempt that never connects, such as that to the other family of addresses.
    if channel.isActive { offer() } else { try? channel.pipeline.syncOperations.addHandler(ConnectedHandler(offer)) }
  }

  /// Whether the handshake on the connection of `handler` was a short one.
  static func wasResumed(_ handler: NIOSSLClientHandler) -> Bool {
    LibraryHandles.connection(handler).map { ctls_was_resumed($0) != 0 } ?? false
  }

  func removeAll() { tickets.withLockedValue { $0 = Tickets() } }

  private func keep(_ ticket: Ticket, for key: Key) {
    tickets.withLockedValue { tickets in
      tickets.touch(key)
      tickets.ofKey[key, default: []].append(ticket)
      if tickets.ofKey[key, default: []].count > TLSSessionCache.maximumTicketsPerKey {
        tickets.ofKey[key]?.removeFirst()
      }
      if tickets.order.count > TLSSessionCache.maximumKeys { tickets.ofKey[tickets.order.removeFirst()] = nil }
    }
  }

  /// The newest: of those for one use, each is handed out once.
  private func take(for key: Key) -> Ticket? {
    tickets.withLockedValue { tickets in
      guard let newest = tickets.ofKey[key]?.last else { return nil }
      tickets.touch(key)
      if ctls_is_for_one_use(newest.session) != 0 { tickets.ofKey[key]?.removeLast() }
      return newest
    }
  }
}

extension TLSSessionCache.Tickets {
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

/// The library's own handles, which its types keep to themselves. nil where a version of it has them elsewhere.
private enum LibraryHandles {
  static func context(_ context: NIOSSLContext) -> UnsafeMutableRawPointer? {
    handle(named: "sslContext", in: Mirror(reflecting: context))
  }

  static func connection(_ handler: NIOSSLClientHandler) -> UnsafeMutableRawPointer? {
    var mirror: Mirror? = Mirror(reflecting: handler)
    while let level = mirror {
      if let connection = level.children.first(where: { $0.label == "connection" })?.value {
        return handle(named: "ssl", in: Mirror(reflecting: connection))
      }
      mirror = level.superclassMirror
    }
    return nil
  }

  private static func handle(named name: String, in mirror: Mirror) -> UnsafeMutableRawPointer? {
    (mirror.children.first { $0.label == name }?.value as? OpaquePointer).map { UnsafeMutableRawPointer($0) }
  }
}
