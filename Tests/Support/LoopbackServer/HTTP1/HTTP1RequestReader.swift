import NIOCore

/// A request that is no HTTP/1 request even to a tolerant reader.
package enum MalformedRequest: Error, Sendable {
  case headTooLarge
  case requestLine(String)
  case fieldLine(String)
  case contentLength(String)
  case chunkSize(String)
  case chunkEnd(String)
}

/// Reads HTTP/1 requests from a connection: tolerant of what it reads, exact about what it reports.
///
/// Used by one script, in one task.
final class HTTP1RequestReader {
  private static let maximumHead = 1 << 20
  private static let maximumChunkSizesKept = 4096

  private enum Progress {
    case length(remaining: Int64)
    case chunkSize
    case chunk(remaining: Int64)
    case trailers
    case done
  }

  private let connection: ServerConnection
  private let recording: BodyRecording
  private var buffer = ByteBuffer()
  private var progress = Progress.done
  private(set) var framing = BodyFraming.none
  private(set) var body = RecordedBody()
  private(set) var trailers: HeaderList = []

  init(connection: ServerConnection, recording: BodyRecording) {
    self.connection = connection
    self.recording = recording
  }

  /// Whether nothing of the current request's body is left to read.
  var isAtEndOfBody: Bool {
    if case .done = progress { true } else { false }
  }

  /// Takes what was read from the connection beyond the current request.
  func takeUnread() -> ByteBuffer {
    defer { buffer = ByteBuffer() }
    return buffer
  }

  // MARK: Heads

  /// The next request's head; nil when the client closed the connection between requests.
  func readHead(index: Int) async throws -> RequestHead? {
    var searched = 0
    while true {
      skipEmptyLines()
      if let end = endOfHead(searchedTo: searched), let raw = buffer.readBytes(length: end) {
        return try head(raw: raw, index: index)
      }
      searched = max(0, buffer.readableBytes - 3)
      guard buffer.readableBytes < Self.maximumHead else { throw MalformedRequest.headTooLarge }
      guard try await fill() else {
        if buffer.readableBytes == 0 { return nil }
        throw MalformedRequest.requestLine(String(buffer: buffer))
      }
    }
  }

  /// RFC 9112 §2.2: empty lines before a request are to be ignored.
  private func skipEmptyLines() {
    while let byte = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self),
      byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
    {
      buffer.moveReaderIndex(forwardBy: 1)
    }
  }

  /// The length of the head with the empty line that ends it, once that line is here.
  private func endOfHead(searchedTo: Int) -> Int? {
    buffer.withUnsafeReadableBytes { bytes in
      var position = searchedTo
      while position < bytes.count {
        guard bytes[position] == UInt8(ascii: "\n") else {
          position += 1
          continue
        }
        if position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n") { return position + 2 }
        if position + 2 < bytes.count, bytes[position + 1] == UInt8(ascii: "\r"),
          bytes[position + 2] == UInt8(ascii: "\n")
        {
          return position + 3
        }
        position += 1
      }
      return nil
    }
  }

  private func head(raw: [UInt8], index: Int) throws -> RequestHead {
    let lines = raw.split(separator: UInt8(ascii: "\n")).map { Self.text($0) }.filter { !$0.isEmpty }
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 2).map { String($0) }
    guard words.count == 3, words[2].hasPrefix("HTTP/") else {
      throw MalformedRequest.requestLine(lines.first ?? "")
    }
    let head = RequestHead(
      method: words[0], target: words[1], version: words[2], fields: try Self.fields(lines.dropFirst()), raw: raw,
      connection: connection.number, indexOnConnection: index, tls: connection.tls)
    try beginBody(of: head)
    return head
  }

  private static func text(_ line: some BidirectionalCollection<UInt8>) -> String {
    String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line.dropLast(0), as: UTF8.self)
  }

  private static func fields(_ lines: some Sequence<String>) throws -> HeaderList {
    var fields: HeaderList = []
    for line in lines {
      if let first = line.first, first == " " || first == "\t", let last = fields.indices.last {
        // Obsolete folding (RFC 9112 §5.2).
        fields[last].value += " " + line.trimmingBlanks()
        continue
      }
      guard let colon = line.firstIndex(of: ":") else { throw MalformedRequest.fieldLine(line) }
      fields.append((String(line[..<colon]), String(line[line.index(after: colon)...]).trimmingBlanks()))
    }
    return fields
  }

  // MARK: Bodies

  /// RFC 9112 §6.3: Transfer-Encoding goes before Content-Length; a request with neither has no body.
  private func beginBody(of head: RequestHead) throws {
    body = RecordedBody()
    trailers = []
    if head.fields.lists("chunked", in: "Transfer-Encoding") {
      framing = .chunked(sizes: [])
      progress = .chunkSize
    } else if let value = head.values("Content-Length").first {
      guard let length = Int64(value), length >= 0 else { throw MalformedRequest.contentLength(value) }
      framing = .length(length)
      progress = length == 0 ? .done : .length(remaining: length)
    } else {
      framing = .none
      progress = .done
    }
  }

  /// Reads the body until `limit` bytes of it have come in all, or, with nil, to its end. Returns false when the client
  /// closed its side before that.
  func readBody(upTo limit: Int64? = nil) async throws -> Bool {
    while limit.map({ body.count < $0 }) ?? true {
      switch progress {
      case .done:
        return true
      case .length(let remaining):
        guard let count = try await take(atMost: remaining, of: limit) else { return false }
        progress = count == remaining ? .done : .length(remaining: remaining - count)
      case .chunkSize:
        guard let line = try await readLine() else { return false }
        let digits = String(line.prefix { $0 != ";" }).trimmingBlanks()
        guard let size = Int64(digits, radix: 16), size >= 0 else { throw MalformedRequest.chunkSize(line) }
        if size > 0 { keepChunkSize(Int(size)) }
        progress = size == 0 ? .trailers : .chunk(remaining: size)
      case .chunk(let remaining):
        if remaining > 0 {
          guard let count = try await take(atMost: remaining, of: limit) else { return false }
          progress = .chunk(remaining: remaining - count)
        } else {
          guard let line = try await readLine() else { return false }
          guard line.isEmpty else { throw MalformedRequest.chunkEnd(line) }
          progress = .chunkSize
        }
      case .trailers:
        guard let line = try await readLine() else { return false }
        if line.isEmpty { progress = .done } else { trailers += try Self.fields([line]) }
      }
    }
    return true
  }

  private func keepChunkSize(_ size: Int) {
    guard case .chunked(var sizes) = framing, sizes.count < Self.maximumChunkSizesKept else { return }
    framing = .none
    sizes.append(size)
    framing = .chunked(sizes: sizes)
  }

  /// Moves body bytes into the record: at least one, as many as are here.
  private func take(atMost remaining: Int64, of limit: Int64?) async throws -> Int64? {
    if buffer.readableBytes == 0 {
      guard try await fill() else { return nil }
    }
    let wanted = min(remaining, limit.map { $0 - body.count } ?? remaining)
    let count = Int(min(wanted, Int64(buffer.readableBytes)))
    guard let slice = buffer.readSlice(length: count) else { return nil }
    slice.withUnsafeReadableBytes { body.append($0, keeping: recording.limit) }
    return Int64(count)
  }

  /// A line without its end; nil when the client closed its side before it was complete.
  private func readLine() async throws -> String? {
    while true {
      let length = buffer.withUnsafeReadableBytes { $0.firstIndex(of: UInt8(ascii: "\n")) }
      if let length, let line = buffer.readBytes(length: length + 1) { return Self.text(line.dropLast()) }
      guard buffer.readableBytes < Self.maximumHead else { throw MalformedRequest.headTooLarge }
      guard try await fill() else { return nil }
    }
  }

  private func fill() async throws -> Bool {
    guard var more = try await connection.read() else { return false }
    if buffer.readableBytes == 0 {
      buffer = more
    } else {
      buffer.writeBuffer(&more)
    }
    return true
  }
}
