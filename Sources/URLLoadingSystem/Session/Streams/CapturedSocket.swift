import Foundation
import Glibc
import Synchronization

/// The app's end of a captured connection: a blocking socket that both of its streams use.
final class CapturedSocket: Sendable {
  let descriptor: CInt
  private let failure = Mutex<(any Error)?>(nil)
  private let onRelease: @Sendable () -> Void

  /// - Parameter onRelease: Called when both streams are gone.
  init(_ descriptor: CInt, onRelease: @escaping @Sendable () -> Void) {
    self.descriptor = descriptor
    self.onRelease = onRelease
  }

  deinit {
    Glibc.close(descriptor)
    onRelease()
  }

  /// Why the connection failed; nil while it has not.
  var error: (any Error)? { failure.withLock { $0 } }

  func note(_ error: any Error) { failure.withLock { $0 = ErrorMapping.urlError(error, url: nil) } }

  /// Waits for bytes. 0 at the end, -1 with `errno` on failure.
  func read(_ buffer: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    while true {
      let result = recv(descriptor, buffer, count, 0)
      if result < 0, errno == EINTR { continue }
      return result
    }
  }

  /// Waits for room. Returns how many bytes were taken, -1 with `errno` on failure.
  func write(_ buffer: UnsafePointer<UInt8>, _ count: Int) -> Int {
    while true {
      let result = send(descriptor, buffer, count, CInt(MSG_NOSIGNAL))
      if result < 0, errno == EINTR { continue }
      return result
    }
  }

  /// Whether `events` of poll(2) hold now.
  func isReady(_ events: CInt) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Whether a read would find the end.
  var isAtEnd: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) == 0
  }

  func closeReading() { shutdown(descriptor, CInt(SHUT_RD)) }

  func closeWriting() { shutdown(descriptor, CInt(SHUT_WR)) }
}
