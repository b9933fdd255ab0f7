import Crypto
import Foundation
import LoopbackServer
import SystemServices
import Testing

@testable import TransferService

/// Files that are sealed in chunks: any part is read alone, and no byte that is not the right one.
@Suite struct SealedChunksTests {
  private static let chunk = SealedChunks.length
  private static let sealedChunk = SealedChunks.length + SealedChunks.overhead
  private static let counts = [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, 4 * chunk, 9 * chunk + 77]

  private let folder: TemporaryFolder
  private let key = SymmetricKey(size: .bits256)
  private var copy: String { folder.path + "/copy" }

  init() throws { folder = try TemporaryFolder() }

  private func bytes(_ count: Int) -> [UInt8] { BytePattern().bytes(count: count) }

  /// Seals a file of so many bytes.
  private func seal(_ count: Int) throws -> SealedChunks {
    let path = folder.path + "/file"
    try Data(bytes(count)).write(to: URL(fileURLWithPath: path))
    let chunks = SealedChunks(key: key, count: Int64(count))
    let file = try LinuxFileSystem().open(copy)
    #expect(try SealedCopy.write(SourceFile.open(path), as: chunks, to: file) == Int64(count))
    #expect(try file.size == chunks.sealedCount)
    try file.close()
    return chunks
  }

  private func open(_ chunks: SealedChunks) throws -> SealedBody? {
    try SealedBody(copy: copy, chunks: chunks, path: "/file")
  }

  @Test(arguments: counts) func aFileIsReadAsItWas(count: Int) throws {
    let body = try #require(try open(try seal(count)))
    #expect(body.length == Int64(count))
    #expect(try body.whole() == Data(bytes(count)))
    let sealed = try #require(FileManager.default.contents(atPath: copy))
    if count > 16 { #expect(sealed.range(of: Data(bytes(16))) == nil) }
  }

  @Test(arguments: counts, [1, 7, chunk, chunk + 1, 256 << 10])
  func itIsReadFromAnyPlaceOn(count: Int, space: Int) throws {
    let body = try #require(try open(try seal(count)))
    let whole = bytes(count)
    for offset in [0, 1, Self.chunk - 1, Self.chunk, Self.chunk + 1, 2 * Self.chunk, count / 2, count - 1]
    where offset >= 0 && offset < count {
      let read = try body.read(space, at: offset)
      #expect(!read.isEmpty && read.count <= space)
      #expect(Array(read) == Array(whole[offset..<offset + read.count]))
    }
    #expect(try body.read(space, at: count).isEmpty)
  }

  /// What follows begins with a chunk, so that none is opened twice.
  @Test func aReadEndsWithAChunk() throws {
    let body = try #require(try open(try seal(9 * Self.chunk)))
    #expect(try body.read(4 * Self.chunk, at: 1_000).count == 4 * Self.chunk - 1_000)
    #expect(try body.read(4 * Self.chunk, at: 4 * Self.chunk).count == 4 * Self.chunk)
  }

  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// Chunks that can't be read; all others can.
    let lost: Set<Int>
    let change: @Sendable (inout Data) -> Void

    init(_ description: String, losing lost: Set<Int>, _ change: @escaping @Sendable (inout Data) -> Void) {
      (testDescription, self.lost, self.change) = (description, lost, change)
    }
  }

  private static let damages = [
    Damage("the first byte", losing: [0]) { $0[0] ^= 1 },
    Damage("a byte in the middle", losing: [1]) { $0[sealedChunk + 500] ^= 0x80 },
    Damage("a tag", losing: [1]) { $0[2 * sealedChunk - 1] ^= 1 },
    Damage("the last byte", losing: [2]) { $0[$0.count - 1] ^= 1 },
    Damage("swapped chunks", losing: [0, 1]) { data in
      let (first, second) = (data[..<sealedChunk], data[sealedChunk..<2 * sealedChunk])
      data.replaceSubrange(..<(2 * sealedChunk), with: second + first)
    },
    Damage("a chunk twice", losing: [1]) { data in
      data.replaceSubrange(sealedChunk..<2 * sealedChunk, with: data[..<sealedChunk])
    },
    Damage("zeros", losing: [0, 1, 2]) { $0 = Data(count: $0.count) },
  ]

  @Test(arguments: damages) func damageIsFound(damage: Damage) throws {
    let count = 2 * Self.chunk + 900
    let chunks = try seal(count)
    var data = try #require(FileManager.default.contents(atPath: copy))
    damage.change(&data)
    try data.write(to: URL(fileURLWithPath: copy))
    let body = try #require(try open(chunks))
    for index in 0...2 {
      let start = index * Self.chunk
      if damage.lost.contains(index) {
        let error = #expect(throws: URLError.self) { _ = try body.read(10, at: start) }
        #expect(error.map { CopyFault.isDamage($0) && CopyFault.passing($0, at: copy) == nil } == true)
      } else {
        #expect(try Array(body.read(10, at: start)) == Array(bytes(count)[start..<start + 10]))
      }
    }
  }

  @Test(arguments: counts) func aFileOfAnotherLengthIsNotOpened(count: Int) throws {
    let chunks = try seal(count)
    let whole = try #require(FileManager.default.contents(atPath: copy))
    for data in [whole.dropLast(), whole.dropLast(Self.sealedChunk), whole + Data([0]), Data()] {
      try Data(data).write(to: URL(fileURLWithPath: copy))
      #expect(try open(chunks) == nil)
    }
  }

  /// A file that was cut behind a chunk, and is believed to be that long, has no last chunk.
  @Test(arguments: [1, 2, 4]) func aFileThatWasCutHasNoLastChunk(left: Int) throws {
    _ = try seal(5 * Self.chunk)
    #expect(truncate(copy, left * Self.sealedChunk) == 0)
    let body = try #require(try open(SealedChunks(key: key, count: Int64(left * Self.chunk))))
    #expect(throws: URLError.self) { _ = try body.read(10, at: (left - 1) * Self.chunk) }
  }

  /// One that grew is not believed either: its former last chunk is marked.
  @Test func aLastChunkIsNoOtherOne() throws {
    _ = try seal(Self.chunk)
    let data = try #require(FileManager.default.contents(atPath: copy))
    try (data + data).write(to: URL(fileURLWithPath: copy))
    let body = try #require(try open(SealedChunks(key: key, count: Int64(2 * Self.chunk))))
    #expect(throws: URLError.self) { _ = try body.read(10, at: 0) }
  }

  @Test func chunksOfAnotherFileAreNotRead() throws {
    let chunks = try seal(300)
    let body = try #require(try open(SealedChunks(key: SymmetricKey(size: .bits256), count: chunks.count)))
    #expect(throws: URLError.self) { _ = try body.whole() }
  }

  /// The file of the process's memory has no byte at its start that can be read.
  @Test func anErrorOfTheDiskIsNoDamage() throws {
    let body = SealedBody(
      try SourceFile.open("/proc/self/mem"), chunks: SealedChunks(key: key, count: 300), path: "/file")
    let error = #expect(throws: URLError.self) { _ = try body.read(10, at: 0) }
    #expect(error.flatMap { CopyFault.passing($0, at: copy) } == SystemError(EIO, "read", path: copy))
    #expect(error.map { CopyFault.isDamage($0) } == false)
  }

  @Test func aFileOfTheGreatestLengthHasBounds() {
    let chunks = SealedChunks(key: key, count: .max)
    #expect(chunks.sealedCount == .max && chunks.lastIndex == Int64.max / Int64(Self.chunk))
    #expect(SealedChunks(key: key, count: -1).sealedCount == Int64(SealedChunks.overhead))
  }
}

extension SealedBody {
  /// As many bytes as one call reads into so much space.
  func read(_ space: Int, at offset: Int) throws -> Data {
    var bytes = [UInt8](repeating: 0, count: space)
    let count = try bytes.withUnsafeMutableBytes { try read(into: $0, at: Int64(offset)) }
    return Data(bytes.prefix(count))
  }

  func whole() throws -> Data {
    var data = Data()
    while data.count < length { data += try read(256 << 10, at: data.count) }
    return data
  }
}
