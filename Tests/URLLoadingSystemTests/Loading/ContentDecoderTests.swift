import HTTPSemantics
import LoopbackServer
import Testing
import URLLoadingSystem

/// What becomes of a body does not depend on how its bytes were cut.
@Suite struct ContentDecoderTests {
  private struct Outcome: Equatable {
    var bytes: [UInt8] = []
    var isCorrupt = false
    var isComplete = true
  }

  private func decode(_ bytes: [UInt8], _ coding: ContentCoding, size: Int) throws -> Outcome {
    let decoder = try #require(try coding.makeDecoder())
    var outcome = Outcome()
    var room = [UInt8](repeating: 0, count: 65_536)
    for start in stride(from: 0, to: bytes.count, by: size) {
      var rest = bytes[start..<min(start + size, bytes.count)]
      while let first = rest.first {
        if rest.startIndex > 0, decoder.isBetweenMembers, !decoder.beginsMember(first) { return outcome }
        do {
          let progress = try rest.withUnsafeBytes { source in
            try room.withUnsafeMutableBytes { try decoder.decode(source, into: $0) }
          }
          outcome.bytes += room[..<progress.produced]
          rest = rest.dropFirst(progress.consumed)
        } catch {
          outcome.isCorrupt = true
          return outcome
        }
      }
    }
    outcome.isComplete = decoder.isBetweenMembers
    return outcome
  }

  private static let plain = Array("hello hello hello hello".utf8)
  private static let zstd = CodedBytes.zstd.encode(plain)

  @Test(
    arguments: [
      (.zstd, zstd), (.zstd, zstd + zstd), (.zstd, zstd + [0, 0]), (.zstd, zstd.dropLast()),
      // The frame announces 23 bytes and has none.
      (.zstd, zstd + [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x17, 0x01, 0x00, 0x00]),
      (.zstd, CodedBytes.zstd(plain, windowLog: 23)), (.zstd, CodedBytes.zstd(plain, windowLog: 24)),
      (.zstd, [0x5A, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 0xFF] + zstd), (.zstd, [0x28]), (.zstd, [0x28, 0xB5, 0x2F, 0xFE]),
      (.gzip, CodedBytes.gzip.encode(plain) + CodedBytes.gzip.encode(plain)),
      (.brotli, CodedBytes.brotli.encode(plain)),
      (.deflate, CodedBytes.zlib.encode(plain)), (.deflate, CodedBytes.rawDeflate.encode(plain)),
    ] as [(ContentCoding, [UInt8])])
  func theSameHoweverCut(_ coding: ContentCoding, _ bytes: [UInt8]) throws {
    let whole = try decode(bytes, coding, size: bytes.count)
    for size in 1..<bytes.count { #expect(try decode(bytes, coding, size: size) == whole, "in pieces of \(size)") }
  }

  @Test(
    arguments: [
      // RFC 9659 §3, in a frame that would need no window because it is there at once.
      CodedBytes.zstd(plain, windowLog: 24),
      // Announces 23 bytes, and has none.
      [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x17, 0x01, 0x00, 0x00],
      // A reserved bit; the library's formats of the past, alone and where a header goes on.
      [0x28, 0xB5, 0x2F, 0xFD, 0x28, 0x00, 0x01, 0x00, 0x00], [0x27, 0xB5, 0x2F, 0xFD, 0x00, 0x00, 0xC0, 0x00, 0x00],
      [0x25, 0xB5, 0x2F, 0xFD, 0x04, 0xC0, 0x00, 0x00], [0x28, 0x25, 0xB5, 0x2F, 0xFD, 0x04, 0xC0, 0x00, 0x00],
      [0x28, 0xB5, 0x2F, 0xFD, 0xC8, 0x25, 0xB5, 0x2F, 0xFD, 0x04, 0xC0, 0x00, 0x00, 0x00, 0x00], [0x00],
    ] as [[UInt8]])
  func whatIsNoFrameForTheWebIsCorrupt(_ bytes: [UInt8]) throws {
    for size in 1...bytes.count { #expect(try decode(bytes, .zstd, size: size).isCorrupt, "in pieces of \(size)") }
  }

  @Test(arguments: [0, 1, 255, 256, 65_535, 65_536, 65_791, 65_792, 1_000_000])
  func announcedLengths(_ count: Int) throws {
    let plain = BytePattern().bytes(count: count)
    for bytes in [CodedBytes.zstd.encode(plain), CodedBytes.zstd(plain, windowLog: 20)] {
      let decoder = try #require(try ContentCoding.zstd.makeDecoder())
      var rest = bytes[...]
      var found: [UInt8] = []
      var room = [UInt8](repeating: 0, count: 10_000)
      repeat {
        let progress = try rest.withUnsafeBytes { source in
          try room.withUnsafeMutableBytes { try decoder.decode(source, into: $0) }
        }
        found += room[..<progress.produced]
        rest = rest.dropFirst(progress.consumed)
      } while !decoder.isBetweenMembers && found.count <= count
      #expect(found == plain && rest.isEmpty)
    }
  }
}
