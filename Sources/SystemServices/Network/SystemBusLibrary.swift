/// The part of libsystemd that speaks D-Bus (sd-bus). Opened at run time where it is installed; nothing needs it.
///
/// Only functions without variable arguments: those that Swift can call through a pointer.
struct SystemBusLibrary: Sendable {
  /// nil where the library is not installed.
  static let shared = RuntimeLibrary(named: "libsystemd.so.0").flatMap { try? SystemBusLibrary($0) }

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
  let openContainer: @convention(c) (Message, CChar, Text) -> CInt
  let closeContainer: @convention(c) (Message) -> CInt
  let call: @convention(c) (Bus, Message, UInt64, UnsafeMutableRawPointer?, New<Message>) -> CInt
  let freeError: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let enterContainer: @convention(c) (Message, CChar, Text) -> CInt
  let exitContainer: @convention(c) (Message) -> CInt
  let readArray: @convention(c) (Message, CChar, New<UnsafeRawPointer>, UnsafeMutablePointer<Int>) -> CInt
  let read: @convention(c) (Message, CChar, UnsafeMutableRawPointer) -> CInt
  let releaseMessage: @convention(c) (Message) -> Message?
  let descriptor: @convention(c) (Bus) -> CInt
  let process: @convention(c) (Bus, New<Message>?) -> CInt
  let isSignal: @convention(c) (Message, Text, Text) -> CInt
  let sender: @convention(c) (Message) -> Text?

  private init(_ library: RuntimeLibrary) throws {
    openSystemBus = try library.function("sd_bus_open_system")
    newBus = try library.function("sd_bus_new")
    setAddress = try library.function("sd_bus_set_address")
    setIsClientOfBus = try library.function("sd_bus_set_bus_client")
    start = try library.function("sd_bus_start")
    setCallTimeout = try library.function("sd_bus_set_method_call_timeout")
    closeBus = try library.function("sd_bus_flush_close_unref")
    newCall = try library.function("sd_bus_message_new_method_call")
    setStartsService = try library.function("sd_bus_message_set_auto_start")
    append = try library.function("sd_bus_message_append_basic")
    openContainer = try library.function("sd_bus_message_open_container")
    closeContainer = try library.function("sd_bus_message_close_container")
    call = try library.function("sd_bus_call")
    freeError = try library.function("sd_bus_error_free")
    enterContainer = try library.function("sd_bus_message_enter_container")
    exitContainer = try library.function("sd_bus_message_exit_container")
    readArray = try library.function("sd_bus_message_read_array")
    read = try library.function("sd_bus_message_read_basic")
    releaseMessage = try library.function("sd_bus_message_unref")
    descriptor = try library.function("sd_bus_get_fd")
    process = try library.function("sd_bus_process")
    isSignal = try library.function("sd_bus_message_is_signal")
    sender = try library.function("sd_bus_message_get_sender")
  }
}
