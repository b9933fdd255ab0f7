import Foundation

/// A connection to the system's message bus for a few questions in a row. Used by one thread at a time.
final class SystemBus {
  /// A service on the bus does not answer, or does not know.
  struct NoAnswer: Error {
    /// The error's name on the bus; nil where there is none.
    var name: String?
  }

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
    try ask(object, method) {
      try append($0, argument)
    } reading: {
      try text($0, "o")
    }
  }

  func number(_ property: String, of object: Object) throws -> UInt32 {
    try get(property, of: object, type: "u") { try read($0, "u", as: UInt32.self) }
  }

  func text(_ property: String, of object: Object) throws -> String {
    try get(property, of: object, type: "s") { try text($0, "s") }
  }

  func flag(_ property: String, of object: Object) throws -> Bool {
    try get(property, of: object, type: "b") { try flag($0) }
  }

  func get<Value>(
    _ property: String, of object: Object, type: String, _ read: (SystemBusLibrary.Message) throws -> Value
  ) throws -> Value {
    let properties = Object(
      service: object.service, path: object.path, interface: "org.freedesktop.DBus.Properties")
    return try ask(properties, "Get") { message in
      try append(message, object.interface)
      try append(message, property)
    } reading: { reply in
      try enter(reply, "v", type)
      return try read(reply)
    }
  }

  /// Calls a method with the arguments that `compose` writes; returns what `reading` finds in the answer.
  ///
  /// - Parameter startsService: Whether the bus may start the service. A machine whose services are stopped shall keep
  ///   them so.
  func ask<Value>(
    _ object: Object, _ method: String, startsService: Bool = false,
    _ compose: (SystemBusLibrary.Message) throws -> Void, reading: (SystemBusLibrary.Message) throws -> Value
  ) throws -> Value {
    var message: SystemBusLibrary.Message?
    try check(library.newCall(bus, &message, object.service, object.path, object.interface, method))
    guard let message else { throw NoAnswer() }
    defer { _ = library.releaseMessage(message) }
    try check(library.setStartsService(message, startsService ? 1 : 0))
    try compose(message)
    guard let reply = try call(message) else { throw NoAnswer() }
    defer { _ = library.releaseMessage(reply) }
    return try reading(reply)
  }

  private func call(_ message: SystemBusLibrary.Message) throws -> SystemBusLibrary.Message? {
    // An error of sd-bus: two pointers to text, of which the first is its name, and a number.
    let size = 3 * MemoryLayout<UnsafeRawPointer>.stride
    return try withUnsafeTemporaryAllocation(byteCount: size, alignment: MemoryLayout<UnsafeRawPointer>.alignment) {
      error in
      error.initializeMemory(as: UInt8.self, repeating: 0)
      var reply: SystemBusLibrary.Message?
      guard library.call(bus, message, patience, error.baseAddress, &reply) < 0 else { return reply }
      defer { library.freeError(error.baseAddress) }
      throw NoAnswer(name: error.load(as: UnsafePointer<CChar>?.self).map { String(cString: $0) })
    }
  }

  // MARK: Signals

  /// Readable when there is something to take by `drain`.
  var descriptor: Int32 { library.descriptor(bus) }

  /// Drops the messages that have come. nil when the connection is gone; else whether there were any.
  func drain() -> Bool? {
    var hasAny = false
    while true {
      let result = library.process(bus, nil)
      guard result >= 0 else { return nil }
      guard result > 0 else { return hasAny }
      hasAny = true
    }
  }

  /// Takes one message, which `reading` is given. nil when the connection is gone; else whether there was anything.
  func takeMessage(_ reading: (SystemBusLibrary.Message) -> Void) -> Bool? {
    var message: SystemBusLibrary.Message?
    let result = library.process(bus, &message)
    guard result >= 0 else { return nil }
    if let message {
      defer { _ = library.releaseMessage(message) }
      reading(message)
    }
    return result > 0
  }

  func isSignal(_ message: SystemBusLibrary.Message, _ object: Object, _ member: String) -> Bool {
    library.isSignal(message, object.interface, member) > 0
  }

  /// The connection's own name on the bus.
  func sender(of message: SystemBusLibrary.Message) -> String? { library.sender(message).map { String(cString: $0) } }

  private static let driver = Object(
    service: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus")

  /// The own name of the connection that has a service's name now.
  func owner(of service: String) throws -> String {
    try ask(SystemBus.driver, "GetNameOwner") {
      try append($0, service)
    } reading: {
      try text($0, "s")
    }
  }

  /// Asks the bus to tell of signals that the rule describes.
  func addMatch(_ rule: String) {
    try? ask(SystemBus.driver, "AddMatch") {
      try append($0, rule)
    } reading: { _ in
    }
  }

  // MARK: Messages

  func append(_ message: SystemBusLibrary.Message, _ text: String) throws {
    try text.withCString { try check(library.append(message, SystemBus.code("s"), $0)) }
  }

  func append<Number: FixedWidthInteger>(
    _ message: SystemBusLibrary.Message, _ number: Number, _ type: UnicodeScalar
  ) throws {
    try withUnsafePointer(to: number) { try check(library.append(message, SystemBus.code(type), $0)) }
  }

  /// Appends an array of what `contents` names, with the elements that `compose` writes.
  func appendArray(
    _ message: SystemBusLibrary.Message, of contents: String, _ compose: () throws -> Void = {}
  ) throws { try append(message, "a", contents, compose) }

  /// Appends an entry of a dictionary of strings and variants, whose value is one byte.
  func appendEntry(_ message: SystemBusLibrary.Message, _ key: String, byte: UInt8) throws {
    try append(message, "e", "sv") {
      try append(message, key)
      try append(message, "v", "y") { try append(message, byte, "y") }
    }
  }

  private func append(
    _ message: SystemBusLibrary.Message, _ container: UnicodeScalar, _ contents: String, _ compose: () throws -> Void
  ) throws {
    try check(library.openContainer(message, SystemBus.code(container), contents))
    try compose()
    try check(library.closeContainer(message))
  }

  func read<Number: FixedWidthInteger>(
    _ reply: SystemBusLibrary.Message, _ type: UnicodeScalar, as: Number.Type
  ) throws -> Number {
    var value: Number = 0
    try withUnsafeMutablePointer(to: &value) { try check(library.read(reply, SystemBus.code(type), $0)) }
    return value
  }

  func text(_ reply: SystemBusLibrary.Message, _ type: UnicodeScalar) throws -> String {
    var pointer: UnsafePointer<CChar>?
    try withUnsafeMutablePointer(to: &pointer) { try check(library.read(reply, SystemBus.code(type), $0)) }
    guard let pointer else { throw NoAnswer() }
    return String(cString: pointer)
  }

  /// A boolean.
  func flag(_ message: SystemBusLibrary.Message) throws -> Bool {
    // sd-bus reads it into an int.
    try read(message, "b", as: CInt.self) != 0
  }

  /// A descriptor of the caller's own.
  func fileDescriptor(_ reply: SystemBusLibrary.Message) throws -> Int32 {
    // That of the message is closed with it.
    let own = fcntl(try read(reply, "h", as: CInt.self), F_DUPFD_CLOEXEC, 3)
    guard own >= 0 else { throw NoAnswer() }
    return own
  }

  /// An array of bytes.
  func bytes(_ reply: SystemBusLibrary.Message) throws -> [UInt8] {
    var start: UnsafeRawPointer?
    var count = 0
    try check(library.readArray(reply, SystemBus.code("y"), &start, &count))
    return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// False at the end of what it would be in.
  @discardableResult
  func enter(_ reply: SystemBusLibrary.Message, _ type: UnicodeScalar, _ contents: String) throws -> Bool {
    let result = library.enterContainer(reply, SystemBus.code(type), contents)
    try check(result)
    return result > 0
  }

  func leave(_ reply: SystemBusLibrary.Message) throws { try check(library.exitContainer(reply)) }

  private static func code(_ type: UnicodeScalar) -> CChar { CChar(type.value) }

  private func check(_ result: CInt) throws { if result < 0 { throw NoAnswer() } }
}
