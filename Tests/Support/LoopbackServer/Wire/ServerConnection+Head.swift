import NIOCore

extension ServerConnection {
  /// What comes up to the empty line, with it; less at the end. What comes behind it is read next.
  package func readHead() async throws -> String {
    var head = ByteBuffer()
    while true {
      let bytes = head.readableBytesView
      if let end = bytes.indices.first(where: { bytes[$0...].starts(with: Array("\r\n\r\n".utf8)) }) {
        let length = end - bytes.startIndex + 4
        unread(head.getSlice(at: head.readerIndex + length, length: head.readableBytes - length) ?? ByteBuffer())
        return String(buffer: head.getSlice(at: head.readerIndex, length: length) ?? head)
      }
      guard var more = try await read() else { return String(buffer: head) }
      head.writeBuffer(&more)
    }
  }
}
