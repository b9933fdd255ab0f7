import Foundation
import LoopbackServer
import Testing

@Suite struct BytePatternTests {
  @Test(arguments: [(0, 10), (1, 7), (505, 20), (511, 2), (65_530, 20), (131_071, 66_000), (1 << 33, 4096)])
  func anyPartIsThePartOfTheWhole(_ offset: Int, _ count: Int) {
    let pattern = BytePattern(seed: 9)
    let from = max(0, offset - 700)
    let whole = pattern.bytes(at: Int64(from), count: count + 1400)
    #expect(pattern.bytes(at: Int64(offset), count: count) == Array(whole[(offset - from)..<(offset - from + count)]))
    #expect(
      Array(buffer: pattern.buffer(at: Int64(offset), count: count)) == pattern.bytes(at: Int64(offset), count: count))
  }

  @Test func tellsMisplacedDataEvenAtWholeBlocks() {
    let pattern = BytePattern()
    for distance in [512, 4096, 65_536, 1 << 20] {
      #expect(!pattern.matches(pattern.bytes(at: 0, count: 512), at: Int64(distance)), "moved by \(distance)")
    }
    #expect(pattern.bytes(count: 512) != BytePattern(seed: 2).bytes(count: 512))
    #expect(pattern.bytes(count: 512) == BytePattern().bytes(count: 512))
  }

  @Test func namesTheFirstWrongByteOfAFile() throws {
    let pattern = BytePattern(seed: 5)
    let file = TemporaryFile()
    try pattern.write(toFile: file.path, count: 300_000)
    #expect(pattern.matches(file: file.path, count: 300_000))
    #expect(pattern.difference(toFile: file.path, count: 300_001)?.contains("300000 bytes") == true)
    #expect(pattern.difference(toFile: file.path, count: 299_999)?.contains("300000 bytes") == true)
    #expect(!BytePattern(seed: 6).matches(file: file.path, count: 300_000))

    let handle = try #require(FileHandle(forUpdatingAtPath: file.path))
    try handle.seek(toOffset: 270_001)
    let right = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: 270_001)
    try handle.write(contentsOf: Data([right ^ 1]))
    try handle.close()
    #expect(pattern.difference(toFile: file.path, count: 300_000)?.contains("byte 270001") == true)
    #expect(pattern.difference(toFile: "/nowhere", count: 1) == "cannot open /nowhere")
  }

  @Test func digestDoesNotDependOnSlices() {
    let bytes = BytePattern().bytes(count: 1000)
    var whole = BodyDigest()
    bytes.withUnsafeBytes { whole.update($0) }
    for size in [1, 3, 8, 13, 999] {
      var sliced = BodyDigest()
      for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { sliced.update($0) }
      }
      #expect(sliced.value == whole.value, "slices of \(size)")
    }
    #expect(whole.value == BytePattern().digest(count: 1000))
    #expect(whole.value != BytePattern().digest(count: 999))
  }

  @Test func digestSeesTrailingZeros() {
    var one = BodyDigest()
    var other = BodyDigest()
    [UInt8](repeating: 0, count: 3).withUnsafeBytes { one.update($0) }
    [UInt8](repeating: 0, count: 4).withUnsafeBytes { other.update($0) }
    #expect(one.value != other.value)
  }
}
