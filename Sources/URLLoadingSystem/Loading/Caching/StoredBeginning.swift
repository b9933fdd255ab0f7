import NIOCore

/// Gives out stored bytes before those of the network (RFC 9111 §3.4). Confined to the load's event loop.
final class StoredBeginning: BodyFilter {
  private let loop: any EventLoop
  private var bytes: ByteBuffer?

  init(_ bytes: ByteBuffer, on loop: any EventLoop) {
    self.bytes = bytes.readableBytes > 0 ? bytes : nil
    self.loop = loop
  }

  func take(from input: () throws -> BodyPart) throws -> BodyPart {
    loop.assertInEventLoop()
    guard let bytes else { return try input() }
    self.bytes = nil
    return .bytes(bytes)
  }
}
