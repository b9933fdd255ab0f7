import NIOCore

extension ServerConnection {
  /// What comes until an empty line, and perhaps more; less at the end.
  package func readHead() async throws -> String {
    var head = ByteBuffer()
    while !String(buffer: head).contains("\r\n\r\n") {
      guard var more = try await read() else { break }
      head.writeBuffer(&more)
    }
    return String(buffer: head)
  }
}
