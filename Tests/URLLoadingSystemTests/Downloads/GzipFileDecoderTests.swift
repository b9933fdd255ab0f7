import HTTPSemantics
import Testing

@testable import URLLoadingSystem

@Suite struct GzipFileDecoderTests {
  /// Decodes with room for `limit` bytes at a time; nil for a file that ends too early.
  private func decoded(_ bytes: [UInt8], piece size: Int, limit: Int) throws -> [UInt8]? {
    var decoder = try GzipFileDecoder()
    var result: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      var piece = rest.prefix(size)
      rest = rest.dropFirst(size)
      while true {
        var output: [UInt8] = []
        try decoder.decode(&piece, into: &output, upTo: limit)
        #expect(output.count <= limit)
        result += output
        if piece.isEmpty, output.count < limit { break }
      }
    }
    return decoder.isComplete ? result : nil
  }

  @Test(arguments: [(1 << 20, 1 << 20), (1, 4096), (1000, 16)])
  func membersComeOutOneAfterTheOther(_ piece: Int, _ limit: Int) throws {
    let first = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 300) }
    let second = [UInt8](repeating: 5, count: 100_000)
    let file = CodedBytes.gzip.encode(first) + CodedBytes.gzip.encode(second)
    #expect(try decoded(file, piece: piece, limit: limit) == first + second)
    #expect(try decoded(file + [0, 0, 0], piece: piece, limit: limit) == first + second)
    #expect(try decoded(Array(file.dropLast()), piece: piece, limit: limit) == nil)
  }

  @Test func otherFilesAreRefused() {
    #expect(throws: FileDecodingFailure.self) {
      try decoded(Array("no gzip at all".utf8), piece: 100, limit: 100)
    }
  }
}
