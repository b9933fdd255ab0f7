import Foundation
import HTTPSemantics
import NIOCore

/// Undoes the content codings of a body that is there as a whole.
enum BodyDecoding {
  /// More than this is not held in memory at once.
  private static let largest = 256 * 1024 * 1024

  /// nil for a body that can't be decoded, or is too large.
  static func decode(_ bytes: ByteBuffer, _ codings: ContentCodings) -> ByteBuffer? {
    guard codings.areAllKnown, codings.decodingOrder.count <= 5 else { return bytes }
    var bytes = bytes
    for coding in codings.decodingOrder {
      guard let decoded = decode(bytes, coding) else { return nil }
      bytes = decoded
    }
    return bytes
  }

  private static func decode(_ bytes: ByteBuffer, _ coding: ContentCoding) -> ByteBuffer? {
    let filter = DecodingFilter(coding, url: nil)
    var rest: ByteBuffer? = bytes.readableBytes > 0 ? bytes : nil
    var output = ByteBuffer()
    while output.readableBytes <= largest {
      let part = try? filter.take {
        defer { rest = nil }
        return rest.map { .bytes($0) } ?? .end
      }
      switch part {
      case .bytes(var piece): output.writeBuffer(&piece)
      case .busy, .pending: continue
      case .end: return output
      case nil: return nil
      }
    }
    return nil
  }
}
