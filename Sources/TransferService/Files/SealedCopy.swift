import Crypto
import Foundation
import SystemServices
import URLLoadingSystem

/// The service's copy of a file to send, sealed in chunks, where the file system can't share blocks. All calls block.
struct SealedCopy: Codable, Sendable, Equatable {
  /// The name under which it was made, before the transfer had a number.
  var name: String
  /// The key of the copy, sealed by the key of the queue.
  var key: Data

  /// The copy is of use with its own task alone.
  static func purpose(of token: String) -> String { "the copy of the file of \(token)" }

  /// How many chunks are read, sealed and written at a time.
  private static let chunksAtOnce = 4

  /// Writes the first `chunks.count` bytes of a file, or those that there are.
  ///
  /// - Parameter wrote: called with the length of the copy each time that it grows.
  /// - Returns: how many. Where it is fewer the copy is of no use.
  /// - Throws: `SystemError` without a path where the source can't be read.
  static func write(
    _ source: SourceFile, as chunks: SealedChunks, to file: any DurableFile, wrote: (Int64) -> Void = { _ in }
  ) throws -> Int64 {
    let capacity = chunksAtOnce * SealedChunks.length
    let plain = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(clamping: max(1, min(Int64(capacity), chunks.count))), alignment: 16)
    defer {
      plain.initializeMemory(as: UInt8.self, repeating: 0)
      plain.deallocate()
    }
    var index: Int64 = 0
    while index <= chunks.lastIndex {
      let offset = SealedChunks.start(of: index)
      let wanted = Int(clamping: min(Int64(capacity), chunks.count - offset))
      let count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: plain.prefix(wanted)), at: offset)
      guard count == wanted else { return offset + Int64(count) }
      var sealed = Data(capacity: capacity + chunksAtOnce * SealedChunks.overhead)
      var (rest, next) = (UnsafeRawBufferPointer(rebasing: plain.prefix(wanted)), index)
      repeat {
        let length = chunks.length(of: next)
        let box = try chunks.seal(UnsafeRawBufferPointer(rebasing: rest.prefix(length)), next)
        sealed.append(box.ciphertext)
        sealed.append(box.tag)
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(length))
        next += 1
      } while !rest.isEmpty
      try sealed.withUnsafeBytes { try file.write($0, at: SealedChunks.sealedStart(of: index)) }
      wrote(SealedChunks.sealedStart(of: index).saturatingAdd(Int64(sealed.count)))
      index = next
    }
    return chunks.count
  }
}

/// A sealed copy as the body of a request. No byte of it leaves that is not the file's.
struct SealedBody: BodyContent {
  let chunks: SealedChunks
  private let file: SourceFile
  /// The app's file, for messages.
  private let path: String

  var length: Int64 { chunks.count }

  /// nil where the copy is not as long as it was made.
  init?(copy: String, chunks: SealedChunks, path: String) throws {
    let file = try SourceFile.open(copy)
    guard try Int64(file.regularStatus(path: copy).st_size) == chunks.sealedCount else { return nil }
    self.init(file, chunks: chunks, path: path)
  }

  /// - Parameter file: Is as long as the chunks say.
  init(_ file: SourceFile, chunks: SealedChunks, path: String) {
    self.file = file
    self.chunks = chunks
    self.path = path
  }

  func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    guard offset >= 0, offset < length else { return 0 }
    var end = min(length, offset.saturatingAdd(Int64(space.count)))
    // The next read begins with a chunk, so that no other one is opened twice.
    let whole = SealedChunks.start(of: SealedChunks.index(of: end))
    if end < length, whole > offset { end = whole }
    let sealed = UnsafeMutableRawBufferPointer.allocate(
      byteCount: SealedChunks.length + SealedChunks.overhead, alignment: 16)
    defer { sealed.deallocate() }
    var position = offset
    while position < end {
      let index = SealedChunks.index(of: position)
      let plain = try open(index, in: sealed)
      let skipped = Int(position - SealedChunks.start(of: index))
      let part = plain.dropFirst(skipped).prefix(Int(end - position))
      guard !part.isEmpty else { throw damage }
      let place = UnsafeMutableRawBufferPointer(rebasing: space[Int(position - offset)...])
      part.withUnsafeBytes { place.copyMemory(from: $0) }
      position += Int64(part.count)
    }
    return Int(position - offset)
  }

  private func open(_ index: Int64, in space: UnsafeMutableRawBufferPointer) throws -> Data {
    let sealed = UnsafeMutableRawBufferPointer(
      rebasing: space.prefix(chunks.length(of: index) + SealedChunks.overhead))
    do {
      guard try file.read(into: sealed, at: SealedChunks.sealedStart(of: index)) == sealed.count else { throw damage }
      return try chunks.open(UnsafeRawBufferPointer(sealed), index)
    } catch is SealedChunks.Damaged { throw damage } catch let error as SystemError {
      throw ErrorMapping.make(
        .cannotOpenFile, because: "The transfer service's copy of \(path) can't be read: \(error).", errno: error.code)
    }
  }

  private var damage: URLError {
    ErrorMapping.make(
      .cannotOpenFile,
      because: "The transfer service's copy of \(path) was changed or damaged on the disk. Create the task again.",
      underlying: SealedChunks.Damaged())
  }
}
