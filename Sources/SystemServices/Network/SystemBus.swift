import Foundation

/// A connection to the system's message bus for a few questions in a row. Used by one thread at a time.
final class SystemBus {
  /// A service on the bus does not answer, or does not know.
  struct NoAnswer: Error {}

  /// A service's object, seen through one of its interfaces.
  struct Object {
    let service: String
    let path: String
    let interface: String
  }

  private let library: SystemBusLibrary
  private let bus: SystemBusLibrary.Bus
  private let patience: UInt64

  /// nil when there is no bus.
  ///
  /// - Parameter address: where the bus listens; nil for the system's own place (`DBUS_SYSTEM_BUS_ADDRESS`).
  /// - Parameter patience: for each question, in microseconds.
  init?(address: String? = nil, patience: UInt64 = 1_000_000) {
    guard let library = SystemBusLibrary.shared, let bus = SystemBus.open(library, address) else { return nil }
    self.library = library
    self.bus = bus
    self.patience = patience
    _ = library.setCallTimeout(bus, patience)
  }

  deinit { _ = library.closeBus(bus) }

  private static func open(_ library: SystemBusLibrary, _ address: String?) -> SystemBusLibrary.Bus? {
    var bus: SystemBusLibrary.Bus?
    guard let address else { return library.openSystemBus(&bus) >= 0 ? bus : nil }
    guard library.newBus(&bus) >= 0, let bus else { return nil }
    guard library.setAddress(bus, address) >= 0, library.setIsClientOfBus(bus, 1) >= 0, library.start(bus) >= 0 else {
      _ = library.closeBus(bus)
      return nil
    }
    return bus
  }

  // MARK: Questions

  /// Calls a method that takes a string and returns an object's path.
  func path(_ object: Object, _ method: String, _ argument: String) throws -> String {
    try ask(object, method, [argument]) { try self.text($0, "o") }
  }

  func number(_ property: String, of object: Object) throws -> UInt32 {
    try get(property, of: object, type: "u") { reply in
      var value: UInt32 = 0
      try self.check(self.library.read(reply, SystemBus.code("u"), &value))
      return value
    }
  }

  func text(_ property: String, of object: Object) throws -> String {
    try get(property, of: object, type: "s") { try self.text($0, "s") }
  }

  private func get<Value>(
    _ property: String, of object: Object, type: String, _ read: (SystemBusLibrary.Message) throws -> Value
  ) throws -> Value {
    let properties = Object(
      service: object.service, path: object.path, interface: "org.freedesktop.DBus.Properties")
    return try ask(properties, "Get", [object.interface, property]) { reply in
      try check(library.enterContainer(reply, SystemBus.code("v"), type))
      return try read(reply)
    }
  }

  private func ask<Value>(
    _ object: Object, _ method: String, _ arguments: [String], _ read: (SystemBusLibrary.Message) throws -> Value
  ) throws -> Value {
    var message: SystemBusLibrary.Message?
    try check(library.newCall(bus, &message, object.service, object.path, object.interface, method))
    guard let message else { throw NoAnswer() }
    defer { _ = library.releaseMessage(message) }
    // A machine whose NetworkManager is stopped shall keep it so.
    try check(library.setStartsService(message, 0))
    for argument in arguments {
      try argument.withCString { try check(library.append(message, SystemBus.code("s"), $0)) }
    }
    var reply: SystemBusLibrary.Message?
    try check(library.call(bus, message, patience, nil, &reply))
    guard let reply else { throw NoAnswer() }
    defer { _ = library.releaseMessage(reply) }
    return try read(reply)
  }

  private func text(_ reply: SystemBusLibrary.Message, _ type: UnicodeScalar) throws -> String {
    var pointer: UnsafePointer<CChar>?
    try check(library.read(reply, SystemBus.code(type), &pointer))
    guard let pointer else { throw NoAnswer() }
    return String(cString: pointer)
  }

  private static func code(_ type: UnicodeScalar) -> CChar { CChar(type.value) }

  private func check(_ result: CInt) throws { if result < 0 { throw NoAnswer() } }
}
