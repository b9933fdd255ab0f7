/// The classes that a session offers its requests to, before the built-in loaders.
struct ProtocolClasses: Sendable {
  private let own: [URLProtocol.Type]
  /// Whether those that `URLProtocol.registerClass(_:)` has registered are asked too, behind the session's own.
  var includesRegistered = false

  /// - Parameter classes: Those that are no subclasses of `URLProtocol` are left out.
  init(_ classes: [AnyClass]?) { own = (classes ?? []).compactMap { $0 as? URLProtocol.Type } }

  /// The classes of the moment, in the order in which they are asked.
  var present: [URLProtocol.Type] { includesRegistered ? own + ProtocolRegistry.classes : own }
}
