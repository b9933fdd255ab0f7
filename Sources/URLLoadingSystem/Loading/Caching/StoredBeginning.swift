import NIOCore

/// Gives out stored bytes before those of the network (RFC 9111 §3.4). Confined to the load's event loop.
final class StoredBeginning: BodyFilter {
  private var bytes: ByteBuffer?

  init(_ bytes: ByteBuffer) { self.bytes = bytes.readableBytes > 0 ? bytes : nil }

  func take(from input: () throws -> BodyPart) throws -> BodyPart {
    guard let bytes else { return try input() }
    self.bytes = nil
    return .bytes(bytes)
  }
}
