import Synchronization

/// The classes that `URLProtocol.registerClass(_:)` has registered.
enum ProtocolRegistry {
  /// The latest first.
  private static let registered = Mutex<[URLProtocol.Type]>([])

  static var classes: [URLProtocol.Type] { registered.withLock { $0 } }

  static func register(_ protocolClass: AnyClass) -> Bool {
    guard let type = protocolClass as? URLProtocol.Type, type != URLProtocol.self else { return false }
    registered.withLock { classes in
      classes.removeAll { $0 == type }
      classes.insert(type, at: 0)
    }
    return true
  }

  static func unregister(_ protocolClass: AnyClass) {
    registered.withLock { $0.removeAll { ObjectIdentifier($0) == ObjectIdentifier(protocolClass) } }
  }
}
