import Glibc
import NIOCore

/// Listens and takes no connection: its queue is full, so that the kernel drops what else comes.
final class FullListener {
  private var descriptors: [CInt] = []

  init(port: Int, address: String) throws {
    let destination = try SocketAddress(ipAddress: address, port: port)
    let listener = try FullListener.socket()
    descriptors = [listener]
    var reuse: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<CInt>.size))
    let isListening = destination.withSockAddr { address, length in
      bind(listener, address, socklen_t(length)) == 0 && listen(listener, 0) == 0
    }
    guard isListening else { throw Failure(code: errno) }
    // One more than the queue holds; that of the last is left without an answer.
    for _ in 0..<3 {
      let client = try FullListener.socket()
      descriptors.append(client)
      _ = fcntl(client, F_SETFL, O_NONBLOCK)
      _ = destination.withSockAddr { address, length in Glibc.connect(client, address, socklen_t(length)) }
    }
  }

  struct Failure: Error { let code: CInt }

  private static func socket() throws -> CInt {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    return descriptor
  }

  func close() {
    for descriptor in descriptors { Glibc.close(descriptor) }
    descriptors = []
  }

  deinit { close() }
}
