import Foundation

/// The part of libsystemd that speaks D-Bus (sd-bus). Opened at run time where it is installed; nothing needs it.
///
/// Only functions without variable arguments: those that Swift can call through a pointer.
struct SystemBusLibrary: Sendable {
  /// nil where the library is not installed.
  static let shared = SystemBusLibrary(named: "libsystemd.so.0")

  typealias Bus = OpaquePointer
  typealias Message = OpaquePointer
  typealias Text = UnsafePointer<CChar>
  typealias New<Thing> = UnsafeMutablePointer<Thing?>

  let openSystemBus: @convention(c) (New<Bus>) -> CInt
  let newBus: @convention(c) (New<Bus>) -> CInt
  let setAddress: @convention(c) (Bus, Text) -> CInt
  let setIsClientOfBus: @convention(c) (Bus, CInt) -> CInt
  let start: @convention(c) (Bus) -> CInt
  let setCallTimeout: @convention(c) (Bus, UInt64) -> CInt
  let closeBus: @convention(c) (Bus) -> Bus?
  let newCall: @convention(c) (Bus, New<Message>, Text, Text, Text, Text) -> CInt
  let setStartsService: @convention(c) (Message, CInt) -> CInt
  let append: @convention(c) (Message, CChar, UnsafeRawPointer) -> CInt
  let call: @convention(c) (Bus, Message, UInt64, UnsafeMutableRawPointer?, New<Message>) -> CInt
  let enterContainer: @convention(c) (Message, CChar, Text) -> CInt
  let exitContainer: @convention(c) (Message) -> CInt
  let readArray: @convention(c) (Message, CChar, New<UnsafeRawPointer>, UnsafeMutablePointer<Int>) -> CInt
  let read: @convention(c) (Message, CChar, UnsafeMutableRawPointer) -> CInt
  let releaseMessage: @convention(c) (Message) -> Message?

  init?(named name: String) {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    func function<Function>(_ name: String, as type: Function.Type) -> Function? {
      dlsym(library, "sd_bus_" + name).map { unsafeBitCast($0, to: type) }
    }
    guard let openSystemBus = function("open_system", as: (@convention(c) (New<Bus>) -> CInt).self),
      let newBus = function("new", as: (@convention(c) (New<Bus>) -> CInt).self),
      let setAddress = function("set_address", as: (@convention(c) (Bus, Text) -> CInt).self),
      let setIsClientOfBus = function("set_bus_client", as: (@convention(c) (Bus, CInt) -> CInt).self),
      let start = function("start", as: (@convention(c) (Bus) -> CInt).self),
      let setCallTimeout = function("set_method_call_timeout", as: (@convention(c) (Bus, UInt64) -> CInt).self),
      let closeBus = function("flush_close_unref", as: (@convention(c) (Bus) -> Bus?).self),
      let newCall = function(
        "message_new_method_call", as: (@convention(c) (Bus, New<Message>, Text, Text, Text, Text) -> CInt).self),
      let setStartsService = function("message_set_auto_start", as: (@convention(c) (Message, CInt) -> CInt).self),
      let append = function(
        "message_append_basic", as: (@convention(c) (Message, CChar, UnsafeRawPointer) -> CInt).self),
      let call = function(
        "call", as: (@convention(c) (Bus, Message, UInt64, UnsafeMutableRawPointer?, New<Message>) -> CInt).self),
      let enterContainer = function(
        "message_enter_container", as: (@convention(c) (Message, CChar, Text) -> CInt).self),
      let exitContainer = function("message_exit_container", as: (@convention(c) (Message) -> CInt).self),
      let readArray = function(
        "message_read_array",
        as: (@convention(c) (Message, CChar, New<UnsafeRawPointer>, UnsafeMutablePointer<Int>) -> CInt).self),
      let read = function(
        "message_read_basic", as: (@convention(c) (Message, CChar, UnsafeMutableRawPointer) -> CInt).self),
      let releaseMessage = function("message_unref", as: (@convention(c) (Message) -> Message?).self)
    else { return nil }
    self.openSystemBus = openSystemBus
    self.newBus = newBus
    self.setAddress = setAddress
    self.setIsClientOfBus = setIsClientOfBus
    self.start = start
    self.setCallTimeout = setCallTimeout
    self.closeBus = closeBus
    self.newCall = newCall
    self.setStartsService = setStartsService
    self.append = append
    self.call = call
    self.enterContainer = enterContainer
    self.exitContainer = exitContainer
    self.readArray = readArray
    self.read = read
    self.releaseMessage = releaseMessage
  }
}
