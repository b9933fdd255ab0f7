import Testing

@testable import HTTPSemantics

@Suite struct BinHexDecoderTests {
  /// A file named `webutils_pl` with a version of 0, as a public converter writes it.
  private static let published = """
    (This file must be converted with BinHex 4.0)
    :#hGPBR9dD@acAh"X!$mr2cmr2cmr!!!!!!!8!!!!!-ka5%p-38K26%&)6da"5%p
    -38K26%'d9J!!:
    """

  @Test func aPublishedFile() throws {
    let text = try #require(try decoded(Array(Self.published.utf8), by: BinHexDecoder()))
    #expect(String(decoding: text, as: UTF8.self) == "HOLAHOLAHOLAHOLAHOLA")
  }

  /// Writes a file as encoders do; bytes that follow one another are shortened where `isShortened`.
  static func encoded(_ data: [UInt8], resource: [UInt8] = [], name: String = "a.txt", isShortened: Bool) -> [UInt8] {
    func checked(_ bytes: [UInt8]) -> [UInt8] {
      var checksum = CRC16()
      for byte in bytes { checksum.add(byte) }
      return bytes + [UInt8(checksum.value >> 8), UInt8(truncatingIfNeeded: checksum.value)]
    }
    func length(_ bytes: [UInt8]) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) }
    }
    let header =
      [UInt8(name.utf8.count)] + name.utf8 + [0] + "TEXTttxt".utf8 + [0, 0] + length(data) + length(resource)
    let plain = checked(header) + checked(data) + checked(resource)
    var runs: [UInt8] = []
    var index = 0
    while index < plain.count {
      let byte = plain[index]
      var count = 1
      while isShortened, count < 255, index + count < plain.count, plain[index + count] == byte { count += 1 }
      runs += byte == 0x90 ? [0x90, 0] : [byte]
      if count > 1 { runs += [0x90, UInt8(count)] }
      index += count
    }
    let alphabet = Array("!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr".utf8)
    var text: [UInt8] = []
    var (bits, bitCount) = (0, 0)
    for byte in runs {
      (bits, bitCount) = ((bits << 8 | Int(byte)) & 0xffff, bitCount + 8)
      while bitCount >= 6 {
        bitCount -= 6
        text.append(alphabet[bits >> bitCount & 63])
      }
    }
    if bitCount > 0 { text.append(alphabet[bits << (6 - bitCount) & 63]) }
    var lines = Array("Some words.\r\n(This file must be converted with BinHex 4.0)\r\n\r\n:".utf8)
    for (place, character) in text.enumerated() {
      if place % 64 == 63 { lines += Array("\r\n".utf8) }
      lines.append(character)
    }
    return lines + Array(":\r\nand more words".utf8)
  }

  static let contents: [[UInt8]] = [
    [], [1], [0x90], [0x90, 0x90, 0x90, 0x90], Array(repeating: 7, count: 100_000), Array(0...255),
    (0..<5000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) },
  ]

  @Test(arguments: contents.indices, [true, false]) func theDataForkComesOut(_ row: Int, isShortened: Bool) throws {
    let data = Self.contents[row]
    let file = Self.encoded(data, resource: [9, 9, 9], isShortened: isShortened)
    for (piece, limit) in [(1 << 20, 1 << 20), (1, 1 << 20), (1000, 16), (64, 1)] {
      let output = try decoded(file, by: BinHexDecoder(), piece: piece, limit: limit)
      #expect(output == data)
    }
  }

  @Test func whatIsNoFileIsRefused() throws {
    let file = Self.encoded(Array(0...255), isShortened: true)
    let start = try #require(file.firstIndex(of: UInt8(ascii: ":")))
    for index in (start + 1)..<(file.count - 20) where ![0x0a, 0x0d].contains(file[index]) {
      var damaged = file
      damaged[index] = damaged[index] == UInt8(ascii: "!") ? UInt8(ascii: "\"") : UInt8(ascii: "!")
      // The resource fork is not looked at; all before it is.
      guard index < file.count - 28 else { continue }
      let output = try? decoded(damaged, by: BinHexDecoder())
      #expect(output == nil || output == .some(nil), "byte \(index)")
    }
    #expect(throws: FileDecodingFailure.self) {
      try decoded(Array("(This file must be converted with BinHex 4.0)\n:~~:".utf8), by: BinHexDecoder())
    }
    let words = try decoded(Array("only words: and more".utf8), by: BinHexDecoder())
    #expect(words == nil)
    let half = try decoded(Array(file.prefix(file.count / 2)), by: BinHexDecoder())
    #expect(half == nil)
  }

  @Test func endlessWordsAreRefused() {
    let words = [UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20)
    #expect(throws: FileDecodingFailure.self) { try decoded(words, by: BinHexDecoder()) }
  }
}
