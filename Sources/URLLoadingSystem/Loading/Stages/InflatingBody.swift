import CZlib
import Foundation
import NIOCore

/// Decompresses a gzip (RFC 1952) or deflate (RFC 1950, or RFC 1951 as some servers send it) body while it is pulled.
/// Each pull gives at most `pieceSize` bytes, so that memory stays bounded whatever the ratio.
final class InflatingBody: LoadBody, @unchecked Sendable {
  enum Format { case gzip, zlibOrRaw }

  private let source: any LoadBody
  private let format: Format
  private let url: URL?
  private var input: ByteBuffer?
  private var inflater: Inflater?
  private var isOver = false

  private static let pieceSize = 256 * 1024

  init(_ source: any LoadBody, format: Format, url: URL?) {
    self.source = source
    self.format = format
    self.url = url
  }

  func next() async throws -> ByteBuffer? {
    while !isOver {
      if input == nil {
        guard let more = try await source.next() else {
          isOver = true
          // An empty body is no truncated one: HEAD and 304 name a coding and carry nothing.
          guard inflater?.isBetweenMembers ?? true else { throw corrupt("it ends too early") }
          return nil
        }
        input = more
      }
      guard var bytes = input else { continue }
      let inflater = try self.inflater ?? makeInflater(for: bytes)
      self.inflater = inflater
      if bytes.readableBytes == 0, inflater.isBetweenMembers {
        input = nil
        continue
      }
      if inflater.isBetweenMembers, !inflater.startsMember(bytes) {
        // RFC 1952 §2.2 allows several members; what follows the last and is none is padding, and dropped.
        input = nil
        try await drain()
        return nil
      }
      var output = ByteBufferAllocator().buffer(capacity: InflatingBody.pieceSize)
      do { try inflater.inflate(&bytes, into: &output, limit: InflatingBody.pieceSize) } catch {
        source.discard()
        isOver = true
        throw corrupt("\(error)")
      }
      let isDrained = bytes.readableBytes == 0 && output.readableBytes < InflatingBody.pieceSize
      input = isDrained ? nil : bytes
      if output.readableBytes > 0 { return output }
    }
    return nil
  }

  private func makeInflater(for bytes: ByteBuffer) throws -> Inflater {
    let windowBits: Int32
    switch format {
    case .gzip: windowBits = 15 + 16
    case .zlibOrRaw:
      // RFC 1950 §2.2: the low nibble of the first byte is 8, and the first two bytes are a multiple of 31.
      let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) ?? 0
      let isZlib: Bool
      if let both = bytes.getInteger(at: bytes.readerIndex, as: UInt16.self) {
        isZlib = first & 0x0f == 8 && both % 31 == 0
      } else {
        isZlib = first & 0x0f == 8
      }
      windowBits = isZlib ? 15 : -15
    }
    guard let inflater = Inflater(windowBits: windowBits, allowsMembers: format == .gzip) else {
      throw corrupt("there is no memory to decode it")
    }
    return inflater
  }

  private func drain() async throws {
    while try await source.next() != nil {}
    isOver = true
  }

  func discard() {
    isOver = true
    source.discard()
  }

  private func corrupt(_ reason: String) -> URLError {
    ErrorMapping.urlError(
      ErrorMapping.make(.cannotDecodeRawData, because: "The compressed body is corrupt: \(reason)."), url: url)
  }
}
