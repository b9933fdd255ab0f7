import Foundation

/// Cuts a stream of bytes, in whatever pieces it arrives, into messages.
///
/// Bytes from the other side are never trusted: they may make `next()` throw, after which it throws the same error
/// for ever, and nothing worse. At most one incomplete message is kept.
package struct MessageDecoder<Message: Decodable> {
  private var buffer = Data()
  /// How much of the buffer's front has been returned already; cut off when it is worth the copy.
  private var consumed = 0
  private var failure: MessageFramingError?
  /// How many bytes the last message had.
  package private(set) var lastLength = 0
  /// How many bytes the next message may have, where that is less than any message may have.
  package var lengthLimit: Int

  package init(lengthLimit: Int = MessageFraming.maximumLength) { self.lengthLimit = lengthLimit }

  /// Bytes that are not yet part of a returned message.
  package var bufferedCount: Int { buffer.count - consumed }

  package mutating func append(_ bytes: some Sequence<UInt8>) {
    guard failure == nil else { return }
    buffer.append(contentsOf: bytes)
  }

  /// The next complete message; nil when more bytes are needed.
  package mutating func next() throws -> Message? {
    if let failure { throw failure }
    do {
      return try decodeNext()
    } catch let error as MessageFramingError {
      failure = error
      buffer = Data()
      consumed = 0
      throw error
    }
  }

  private mutating func decodeNext() throws -> Message? {
    guard bufferedCount >= MessageFraming.prefixLength else { return nil }
    let start = buffer.startIndex + consumed
    let payloadStart = start + MessageFraming.prefixLength
    let length = buffer[start..<payloadStart].reduce(0) { $0 << 8 | Int($1) }
    guard length > 0 else { throw MessageFramingError.empty }
    guard length <= MessageFraming.maximumLength else { throw MessageFramingError.tooLong(length) }
    guard length <= lengthLimit else { throw MessageFramingError.aboveLimit(length, limit: lengthLimit) }
    guard bufferedCount >= MessageFraming.prefixLength + length else { return nil }
    let payload = Data(buffer[payloadStart..<payloadStart + length])
    consumed += MessageFraming.prefixLength + length
    lastLength = length
    // Cutting only when at least half can go keeps the cost of many small messages proportional to their bytes.
    if consumed * 2 >= buffer.count {
      buffer = Data(buffer.dropFirst(consumed))
      consumed = 0
    }
    do {
      return try MessageFraming.decode(Message.self, from: payload)
    } catch {
      throw MessageFramingError.notAMessage(MessageDecoder.explain(error))
    }
  }

  private static func explain(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .keyNotFound(let key, _): "\(key.stringValue) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      (context.codingPath.map(\.stringValue) + [context.debugDescription]).joined(separator: ": ")
    default: "\(error)"
    }
  }
}
