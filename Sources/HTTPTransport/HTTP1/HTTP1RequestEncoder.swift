import HTTPSemantics
import NIOCore

/// Writes requests as HTTP/1.1 bytes (RFC 9112 §3, §6, §7.1).
///
/// Whatever could end a line early is refused here, even if nothing above has looked at it.
package enum HTTP1RequestEncoder {
  /// Writes the request line, Host, the fields, and the empty line.
  ///
  /// Host comes first and has the head's authority; the framing alone decides on Content-Length and Transfer-Encoding.
  /// Fields of these three names in the head are not written. Of a request that is refused, nothing is written.
  package static func encode(
    _ head: HTTPRequestHead, framing: RequestBodyFraming, into buffer: inout ByteBuffer
  ) throws(FieldValidation.Refusal) {
    guard FieldValidation.isMethod(head.method) else { throw .invalidMethod }
    guard FieldValidation.isTarget(head.target) else { throw .invalidTarget }
    guard FieldValidation.isAuthority(head.authority) else { throw .invalidAuthority }
    try validate(head.fields)

    buffer.reserveCapacity(minimumWritableBytes: length(of: head) + 64)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 0) { memory in
      var text = HTTP1HeadText(memory)
      text.append(head.method)
      text.append(" ")
      text.append(head.target)
      // RFC 9110 §7.2: Host should be the first field.
      text.append(" HTTP/1.1\r\nHost: ")
      text.append(head.authority)
      text.append("\r\n")
      let fields = head.fields.fields
      for index in fields.indices where !isWrittenByUs(fields[index].name) {
        text.append(fields[index].name)
        text.append(": ")
        text.append(fields[index].value)
        text.append("\r\n")
      }
      switch framing {
      case .none: break
      case .length(let length):
        text.append("Content-Length: ")
        text.append(String(max(0, length)))
        text.append("\r\n")
      case .chunked: text.append("Transfer-Encoding: chunked\r\n")
      }
      text.append("\r\n")
      return text.count
    }
  }

  /// How many bytes the head takes at most, its framing aside.
  private static func length(of head: HTTPRequestHead) -> Int {
    let fields = head.fields.fields
    var length = head.method.utf8.count + head.target.utf8.count + head.authority.utf8.count + 32
    for index in fields.indices { length += fields[index].name.utf8.count + fields[index].value.utf8.count + 4 }
    return length
  }

  /// One chunk with its size before and CRLF after it (RFC 9112 §7.1). Empty for no data: an empty chunk would end
  /// the body.
  package static func chunk(_ data: ByteBuffer) -> ByteBuffer {
    var framed = ByteBuffer()
    guard data.readableBytes > 0 else { return framed }
    framed.reserveCapacity(data.readableBytes + 20)
    writeChunkHeader(size: data.readableBytes, into: &framed)
    framed.writeImmutableBuffer(data)
    writeChunkEnd(into: &framed)
    return framed
  }

  /// The line before a chunk's data, for callers that write large data by itself, without copying it.
  package static func writeChunkHeader(size: Int, into buffer: inout ByteBuffer) {
    buffer.writeString(String(size, radix: 16))
    writeChunkEnd(into: &buffer)
  }

  package static func writeChunkEnd(into buffer: inout ByteBuffer) {
    buffer.writeStaticString("\r\n")
  }

  /// The chunk of size zero that ends a body, and the trailers (RFC 9112 §7.1.2). Trailers that may not be sent, or
  /// that would speak of framing (RFC 9110 §6.5.1), are left out.
  package static func lastChunk(trailers: HTTPFields? = nil) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeStaticString("0\r\n")
    if let trailers {
      for field in FieldValidation.sanitized(trailers).sent.fields where !FieldValidation.isOwnedByTransport(field.name)
      {
        write(field, into: &buffer)
      }
    }
    buffer.writeStaticString("\r\n")
    return buffer
  }

  private static func validate(_ fields: HTTPFields) throws(FieldValidation.Refusal) {
    let fields = fields.fields
    for index in fields.indices {
      guard FieldValidation.isFieldName(fields[index].name) else { throw .invalidName(fields[index].name) }
      guard FieldValidation.isFieldValue(fields[index].value) else { throw .invalidValue(name: fields[index].name) }
    }
  }

  private static func isWrittenByUs(_ name: String) -> Bool {
    switch name.utf8.count {
    case 4: asciiCaseInsensitiveEqual(name, "Host")
    case 14: asciiCaseInsensitiveEqual(name, "Content-Length")
    case 17: asciiCaseInsensitiveEqual(name, "Transfer-Encoding")
    default: false
    }
  }

  private static func write(_ field: HTTPFields.Field, into buffer: inout ByteBuffer) {
    buffer.writeString(field.name)
    buffer.writeStaticString(": ")
    buffer.writeString(field.value)
    buffer.writeStaticString("\r\n")
  }
}
