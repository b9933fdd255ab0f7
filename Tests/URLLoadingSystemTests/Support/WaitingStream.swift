import Foundation
import Glibc
import LoopbackServer

/// A stream of an app, whose `read` waits for bytes of a socket, or for `close`.
final class WaitingStream: InputStream {
  private let descriptor: CInt
  private let isOpened = Gate()
  let isClosed: Gate

  /// - Parameter descriptor: one end of a pair of sockets, which the stream then owns.
  init(reading descriptor: CInt, isClosed: Gate = Gate()) {
    self.descriptor = descriptor
    self.isClosed = isClosed
    super.init(data: Data())
  }

  deinit { Glibc.close(descriptor) }

  override func open() { isOpened.open() }

  override func close() {
    shutdown(descriptor, CInt(SHUT_RDWR))
    isClosed.open()
  }

  override var streamStatus: Stream.Status { isOpened.isOpen ? .open : .notOpen }
  override var hasBytesAvailable: Bool { true }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    recv(descriptor, buffer, len, 0)
  }
}
