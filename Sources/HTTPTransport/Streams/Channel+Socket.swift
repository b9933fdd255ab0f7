import NIOCore

extension Channel {
  /// Calls `body` with the channel's socket, and returns what it returns; nil for a channel that has no socket, or none any
  /// more. The same as `withUnsafeTransportIfAvailable`, which casts to a protocol with a given associated type: the runtime
  /// finds such a type by its name at each call, which takes longer than most system calls. On the channel's loop.
  package func withSocket<Result>(_ body: (NIOBSDSocket.Handle) throws -> Result) rethrows -> Result? {
    eventLoop.assertInEventLoop()
    guard let core = _channelCore as? any NIOTransportAccessibleChannelCore else { return nil }
    return try Self.withSocket(of: core, body)
  }

  private static func withSocket<Core: NIOTransportAccessibleChannelCore, Result>(
    of core: Core, _ body: (NIOBSDSocket.Handle) throws -> Result
  ) rethrows -> Result? {
    let socket = try? core.withUnsafeTransport { $0 as? NIOBSDSocket.Handle }
    return try socket.flatMap { $0 }.map(body)
  }
}
