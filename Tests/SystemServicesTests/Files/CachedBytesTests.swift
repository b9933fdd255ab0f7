import Foundation
import SystemServices
import Testing

@Suite struct CachedBytesTests {
  private func read(_ descriptor: Int32, _ count: Int, at offset: Int64) -> (CachedBytes.Reading, [UInt8]) {
    var space = [UInt8](repeating: 0, count: count)
    let reading = space.withUnsafeMutableBytes { CachedBytes.read(descriptor, into: $0, at: offset) }
    return (reading, space)
  }

  /// What was just written is in memory. Not every file system says so.
  @Test func bytesInMemoryAreRead() throws {
    let path = NSTemporaryDirectory() + "cached-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data("abcdef".utf8).write(to: URL(fileURLWithPath: path))
    let file = try SourceFile.open(path)
    let (reading, bytes) = read(file.descriptor, 4, at: 2)
    guard reading != .isNotOffered else { return }
    #expect(reading == .read(4) && bytes == Array("cdef".utf8))
    #expect(read(file.descriptor, 4, at: 6).0 == .read(0))
  }

  @Test func whatCanNotBeReadIsLeftToAReadThatTells() {
    #expect(read(-1, 4, at: 0).0 == .wouldWait)
  }
}
