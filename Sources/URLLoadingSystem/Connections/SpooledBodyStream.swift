import Foundation
import Synchronization

/// One reading of a `SpooledBody` from its first byte. Closing it leaves the body open for the next one.
final class SpooledBodyStream: InputStream {
  private struct State {
    var position = 0
    var status = Stream.Status.notOpen
    var error: (any Error)?
  }

  private let body: SpooledBody
  private let state = Mutex(State())

  init(_ body: SpooledBody) {
    self.body = body
    super.init(data: Data())
  }

  override func open() { state.withLock { if $0.status == .notOpen { $0.status = .open } } }

  override func close() { state.withLock { $0.status = .closed } }

  override var streamStatus: Stream.Status { state.withLock { $0.status } }

  override var streamError: (any Error)? { state.withLock { $0.error } }

  override var hasBytesAvailable: Bool { state.withLock { $0.status == .open } }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    let (position, status) = state.withLock { ($0.position, $0.status) }
    guard status == .open else { return status == .atEnd ? 0 : -1 }
    do {
      let count = try body.read(buffer, len, at: position)
      state.withLock { state in
        state.position += count
        if count == 0 { state.status = .atEnd }
      }
      return count
    } catch {
      state.withLock { state in
        state.status = .error
        state.error = error
      }
      return -1
    }
  }
}
