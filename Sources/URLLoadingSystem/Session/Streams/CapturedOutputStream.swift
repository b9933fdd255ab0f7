import Foundation
import Glibc

/// The sending side of a captured connection, as an output stream: `write` waits for room. Scheduled in a run loop, it
/// tells its delegate when there is some. Used by one thread at a time, as every stream.
final class CapturedOutputStream: OutputStream {
  private let socket: CapturedSocket?
  private var status = Stream.Status.notOpen
  private var failure: (any Error)?
  private var events: StreamEvents?
  private weak var listener: (any StreamDelegate)?

  init(_ socket: CapturedSocket) {
    self.socket = socket
    super.init(toMemory: ())
  }

  /// Foundation asks for it; a stream to nowhere.
  required init(toMemory: ()) {
    socket = nil
    super.init(toMemory: ())
  }

  deinit { events?.cancel() }

  override func open() {
    guard status == .notOpen else { return }
    status = .open
    events?.opened()
  }

  /// The server sees the end behind what was written.
  override func close() {
    guard status != .closed else { return }
    events?.cancel()
    events = nil
    status = .closed
    socket?.closeWriting()
  }

  override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
    guard status == .open, let socket else { return -1 }
    guard len > 0 else { return 0 }
    let count = socket.write(buffer, len)
    if count >= 0 {
      events?.rearm()
      return count
    }
    failure = socket.error ?? POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    status = .error
    return -1
  }

  override var hasSpaceAvailable: Bool { status == .open && socket?.isReady(CInt(POLLOUT)) == true }
  override var streamStatus: Stream.Status { status }
  override var streamError: (any Error)? { failure }

  override var delegate: (any StreamDelegate)? {
    get { listener }
    set { listener = newValue }
  }

  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    guard let socket else { return }
    let events = events ?? StreamEvents(socket, .writing)
    self.events = events
    events.schedule(in: aRunLoop, mode) { [weak self] event in self?.happened(event) }
    if status == .open { events.rearm() }
  }

  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    events?.cancel()
    events = nil
  }

  private func happened(_ event: StreamEvents.Event) {
    switch event {
    case .opened: listener?.stream(self, handle: .openCompleted)
    case .ready: if status == .open { listener?.stream(self, handle: .hasSpaceAvailable) }
    }
  }

  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}
