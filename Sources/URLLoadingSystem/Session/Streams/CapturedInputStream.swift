import Foundation
import Glibc
import Synchronization

/// The receiving side of a captured connection, as an input stream: `read` waits for bytes. Scheduled in a run loop, it
/// tells its delegate when there are some. Used by one thread at a time, as every stream; but `close` may be called while
/// `read` waits on another thread, which then returns -1.
final class CapturedInputStream: InputStream {
  private let socket: CapturedSocket
  private let statusNumber = Atomic(Stream.Status.notOpen.rawValue)
  private var failure: (any Error)?
  private var events: StreamEvents?
  private weak var listener: (any StreamDelegate)?

  init(_ socket: CapturedSocket) {
    self.socket = socket
    super.init(data: Data())
  }

  deinit { events?.cancel() }

  private var status: Stream.Status {
    get { Stream.Status(rawValue: statusNumber.load(ordering: .sequentiallyConsistent)) ?? .error }
    set { statusNumber.store(newValue.rawValue, ordering: .sequentiallyConsistent) }
  }

  override func open() {
    guard status == .notOpen else { return }
    status = .open
    events?.opened()
  }

  override func close() {
    guard status != .closed else { return }
    events?.cancel()
    events = nil
    status = .closed
    socket.closeReading()
  }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    switch status {
    case .open, .reading: break
    case .atEnd: return 0
    default: return -1
    }
    guard len > 0 else { return 0 }
    let count = socket.read(buffer, len)
    guard status != .closed else { return -1 }
    if count > 0 {
      events?.rearm()
      return count
    }
    if count == 0, socket.error == nil {
      status = .atEnd
      return 0
    }
    failure = socket.error ?? POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    status = .error
    return -1
  }

  /// None: the bytes are in the kernel.
  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  /// True also where only the end is left to be read.
  override var hasBytesAvailable: Bool { status == .open && socket.isReady(CInt(POLLIN)) }
  override var streamStatus: Stream.Status { status }
  override var streamError: (any Error)? { failure }

  override var delegate: (any StreamDelegate)? {
    get { listener }
    set { listener = newValue }
  }

  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let events = events ?? StreamEvents(socket, .reading)
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
    case .ready:
      guard status == .open else { return }
      guard socket.isAtEnd else {
        listener?.stream(self, handle: .hasBytesAvailable)
        return
      }
      failure = socket.error
      status = failure == nil ? .atEnd : .error
      listener?.stream(self, handle: failure == nil ? .endEncountered : .errorOccurred)
    }
  }

  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}
