import HTTPSemantics
import Testing

@testable import URLLoadingSystem

@Suite struct FileDecodingTests {
  @Test func paddingThatIsDroppedInsideDoesNotHoldTheThread() throws {
    let content = Array("content".utf8)
    let padding = [UInt8](repeating: 0, count: 8 << 20)
    var decoding = try FileDecoding([.gzip, .gzip])
    decoding.add(CodedBytes.gzip.encode(CodedBytes.gzip.encode(content) + padding))
    var output: [UInt8] = []
    var calls = 0
    while let piece = try decoding.next() {
      output += piece
      calls += 1
    }
    #expect(output == content)
    #expect(calls >= 8)
    #expect(decoding.isComplete)
  }
}
