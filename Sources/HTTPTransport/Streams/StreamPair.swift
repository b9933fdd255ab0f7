import Glibc
import NIOCore
import NIOPosix

/// Two connected sockets of this machine.
package enum StreamPair {
  /// A stream over one end of a pair of connected sockets, and the other end, a descriptor that the caller closes.
  /// On the loop of `executor`.
  package static func open(on executor: LoopExecutor) async throws -> (stream: any DuplexStream, descriptor: CInt) {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw IOError(errnoCode: errno, reason: "socketpair")
    }
    let connecting = ClientBootstrap(group: executor.loop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .withConnectedSocket(ends[0])
    do {
      let stream = SocketStream(channel: try await connecting.valueOnLoop())
      try stream.activate()
      return (stream, ends[1])
    } catch {
      _ = close(ends[1])
      throw error
    }
  }
}
