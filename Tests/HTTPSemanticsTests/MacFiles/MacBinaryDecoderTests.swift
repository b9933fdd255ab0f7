import Testing

@testable import HTTPSemantics

@Suite struct MacBinaryDecoderTests {
  /// The header of the file "MacBinary II Standard" as it was distributed, with a data fork of 0x1caf bytes.
  private static let published: [UInt8] = {
    var header = [UInt8](repeating: 0, count: 128)
    let parts: [(Int, [UInt8])] = [
      (1, [0x15] + Array("MacBinary II Standard".utf8)), (65, Array("TEXTttxt".utf8) + [1]),
      (85, [0x1c, 0xaf, 0, 0, 1, 0xde, 0xeb, 0xc1, 0x24, 0xae, 0xeb, 0xc1, 0x24, 0xae]),
      (122, [0x81, 0x81, 0xfa, 0x10]),
    ]
    for (offset, bytes) in parts { header.replaceSubrange(offset..<(offset + bytes.count), with: bytes) }
    return header
  }()

  @Test func thePublishedHeader() throws {
    let data = (0..<0x1caf).map { UInt8(truncatingIfNeeded: $0) }
    let padding = [UInt8](repeating: 0, count: 128 - data.count % 128)
    let file = Self.published + data + padding + [UInt8](repeating: 0xee, count: 0x1de)
    for (piece, limit) in [(1 << 20, 1 << 20), (1, 1 << 20), (1000, 16)] {
      let output = try decoded(file, by: MacBinaryDecoder(), piece: piece, limit: limit)
      #expect(output == data)
    }
  }

  static func header(length: Int, version: Int, second: Int = 0) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 128)
    header[1] = 1
    header[2] = UInt8(ascii: "a")
    for byte in 0..<4 { header[83 + byte] = UInt8(truncatingIfNeeded: length >> (24 - 8 * byte)) }
    guard version > 1 else { return header }
    (header[120], header[121]) = (UInt8(second >> 8), UInt8(truncatingIfNeeded: second))
    (header[122], header[123]) = (version == 2 ? 129 : 130, 129)
    var checksum = CRC16()
    for byte in header.prefix(124) { checksum.add(byte) }
    (header[124], header[125]) = (UInt8(checksum.value >> 8), UInt8(truncatingIfNeeded: checksum.value))
    return header
  }

  @Test(arguments: [1, 2, 3], [0, 1, 127, 128, 129, 5000]) func everyVersion(_ version: Int, _ length: Int) throws {
    let data = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let second = version == 1 ? 0 : 130
    let file =
      Self.header(length: length, version: version, second: second)
      + [UInt8](repeating: 0xdd, count: version == 1 ? 0 : 256) + data
    let output = try decoded(file, by: MacBinaryDecoder())
    #expect(output == data)
    let cut = try decoded(Array(file.dropLast()), by: MacBinaryDecoder())
    #expect(cut == (length == 0 && version == 1 ? nil : cut) && (length == 0 || cut == nil))
  }

  @Test func otherFilesAreRefused() throws {
    for (offset, value) in [(0, 1), (1, 0), (1, 64), (74, 1), (82, 1), (83, 0x80), (124, 0)] as [(Int, UInt8)] {
      var header = Self.header(length: 5, version: 2)
      header[offset] = value
      #expect(throws: FileDecodingFailure.self, "\(offset)") { try decoded(header, by: MacBinaryDecoder()) }
    }
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: 500)
    #expect(throws: FileDecodingFailure.self) { try decoded(text, by: MacBinaryDecoder()) }
    let short = try decoded([0, 1], by: MacBinaryDecoder())
    #expect(short == nil)
  }
}
