import CTLSSessions
import NIOConcurrencyHelpers
import NIOSSL

/// The TLS library's own handles, which its types keep to themselves. nil where a version of it has them elsewhere.
enum LibraryHandles {
  /// The handle of a context (SSL_CTX).
  static func context(_ context: NIOSSLContext) -> UnsafeMutableRawPointer? {
    handle(named: "sslContext", in: Mirror(reflecting: context))
  }

  /// The handle of the connection (SSL) of a handler that is in use. A mirror takes longer than much else of a new connection,
  /// so only the first handler is looked into by one.
  static func connection(_ handler: NIOSSLClientHandler) -> UnsafeMutableRawPointer? {
    let places = LibraryHandles.places.withLockedValue { $0 }
    if let places { return places.handle(of: handler) }
    guard let (connection, handle) = reflected(handler) else { return nil }
    if let inHandler = Place(of: Unmanaged.passUnretained(connection).toOpaque(), in: handler),
      let inConnection = Place(of: handle, in: connection)
    {
      LibraryHandles.places.withLockedValue {
        $0 = Places(connectionInHandler: inHandler, handleInConnection: inConnection)
      }
    }
    return handle
  }

  private static let places = NIOLockedValueBox<Places?>(nil)

  private static func reflected(_ handler: NIOSSLClientHandler) -> (AnyObject, UnsafeMutableRawPointer)? {
    var mirror: Mirror? = Mirror(reflecting: handler)
    while let level = mirror {
      if let connection = level.children.first(where: { $0.label == "connection" })?.value {
        guard type(of: connection) is AnyClass, let handle = handle(named: "ssl", in: Mirror(reflecting: connection))
        else { return nil }
        return (connection as AnyObject, handle)
      }
      mirror = level.superclassMirror
    }
    return nil
  }

  private static func handle(named name: String, in mirror: Mirror) -> UnsafeMutableRawPointer? {
    (mirror.children.first { $0.label == name }?.value as? OpaquePointer).map { UnsafeMutableRawPointer($0) }
  }

  /// The same for all handlers: their classes have no subclasses.
  private struct Places: Sendable {
    let connectionInHandler: Place
    let handleInConnection: Place

    func handle(of handler: NIOSSLClientHandler) -> UnsafeMutableRawPointer? {
      withExtendedLifetime(handler) {
        connectionInHandler.value(in: Unmanaged.passUnretained(handler).toOpaque()).flatMap {
          handleInConnection.value(in: $0)
        }
      }
    }
  }

  /// How far a stored pointer is from the beginning of its object.
  struct Place: Sendable {
    let offset: Int

    /// nil unless exactly one word of the object's memory has the value.
    init?(of value: UnsafeMutableRawPointer, in object: AnyObject) {
      let offset = withExtendedLifetime(object) { ctls_place_of(value, Unmanaged.passUnretained(object).toOpaque()) }
      guard offset >= 0 else { return nil }
      self.offset = offset
    }

    func value(in object: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
      object.load(fromByteOffset: offset, as: UnsafeMutableRawPointer?.self)
    }
  }
}
