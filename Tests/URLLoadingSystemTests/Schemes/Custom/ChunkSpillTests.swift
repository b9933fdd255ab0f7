import Foundation
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct ChunkSpillTests {
  private func bytes(_ range: Range<Int>) -> ByteBuffer { ByteBuffer(bytes: range.map { UInt8($0 % 251) }) }

  /// In whatever pieces, and also when all was read before more comes.
  @Test(arguments: [1, 7, 100, 1_000]) func bytesComeBackInOrder(piece: Int) throws {
    let spill = ChunkSpill()
    defer { spill.discard() }
    for round in 0..<3 {
      for start in stride(from: 0, to: 1_000, by: 100) { try spill.append(bytes(round + start..<round + start + 100)) }
      for start in stride(from: 0, to: 1_000, by: piece) {
        let count = min(piece, 1_000 - start)
        #expect(try spill.read(count) == bytes(round + start..<round + start + count))
      }
    }
  }

  @Test func appendingWhileReading() throws {
    let spill = ChunkSpill()
    defer { spill.discard() }
    try spill.append(bytes(0..<100))
    #expect(try spill.read(60) == bytes(0..<60))
    try spill.append(bytes(100..<200))
    #expect(try spill.read(140) == bytes(60..<200))
  }

  @Test func nothingIsReadThatIsNotThere() throws {
    let spill = ChunkSpill()
    #expect(throws: URLError.self) { try spill.read(1) }
    try spill.append(bytes(0..<10))
    #expect(throws: URLError.self) { try spill.read(11) }
    spill.discard()
    try spill.append(bytes(0..<10))
    #expect(throws: URLError.self) { try spill.read(1) }
  }

  /// The file has no name from the beginning, so that nothing of it is left behind by a crash.
  @Test func theFileHasNoName() throws {
    let spill = ChunkSpill()
    try spill.append(bytes(0..<10))
    #expect(try links().contains { $0.contains("CFNetworkDownload_") && $0.hasSuffix("(deleted)") })
    spill.discard()
  }

  private func links() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
  }
}
