import Foundation

/// Writes bytes to a descriptor and waits until it has taken them all, which is what slows the sender down.
struct StreamOutput: Sendable {
  let descriptor: Int32
  let name: String

  func write(_ data: Data) throws {
    switch data.withUnsafeBytes(put) {
    case 0: return
    case EPIPE:
      throw CommandFailure(
        .cannotWrite, "\(name) was closed before the end", advice: "this is usual when a reader has seen enough")
    case let code: throw CommandFailure.cannotWrite(name, String(cString: strerror(code)))
    }
  }

  /// Returns 0, or the number of the error after which not all is written.
  func put(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Another program made the descriptor non-blocking. It is shared with that program, so it stays so.
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
      case let code: return code
      }
    }
    return 0
  }
}
