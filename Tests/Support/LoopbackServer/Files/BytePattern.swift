import Foundation
import NIOCore

/// Reproducible bytes of any length, of which any part can be made without the rest.
///
/// Random-looking content repeats every 64 KiB; every 512 bytes eight of them say which 512 bytes these are, so data
/// that lands at a wrong offset, even a multiple of 64 KiB away, does not compare equal. Two seeds give different
/// content throughout.
package struct BytePattern: Sendable, Equatable {
  package let seed: UInt64
  private let block: [UInt8]

  private static let blockSize = 64 * 1024
  private static let stampDistance = 512

  package init(seed: UInt64 = 1) {
    self.seed = seed
    var state = seed
    var block = [UInt8](repeating: 0, count: Self.blockSize)
    block.withUnsafeMutableBytes { bytes in
      for position in stride(from: 0, to: Self.blockSize, by: 8) {
        state &+= 0x9e37_79b9_7f4a_7c15
        bytes.storeBytes(of: Self.scrambled(state).littleEndian, toByteOffset: position, as: UInt64.self)
      }
    }
    self.block = block
  }

  package static func == (one: BytePattern, other: BytePattern) -> Bool { one.seed == other.seed }

  /// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
  private static func scrambled(_ word: UInt64) -> UInt64 {
    var word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }

  // MARK: Making bytes

  /// Fills `target` with the pattern's bytes from `offset` on.
  package func fill(_ target: UnsafeMutableRawBufferPointer, from offset: Int64) {
    guard let base = target.baseAddress, !target.isEmpty else { return }
    block.withUnsafeBytes { block in
      guard let source = block.baseAddress else { return }
      var done = 0
      while done < target.count {
        let within = Int((offset + Int64(done)) % Int64(Self.blockSize))
        let count = min(Self.blockSize - within, target.count - done)
        (base + done).copyMemory(from: source + within, byteCount: count)
        done += count
      }
    }
    let distance = Int64(Self.stampDistance)
    var stampStart = offset - offset % distance
    let end = offset + Int64(target.count)
    while stampStart < end {
      let stamp = Self.scrambled(seed ^ (UInt64(stampStart / distance) &* 0xd6e8_feb8_6659_fd93)).littleEndian
      if stampStart >= offset && stampStart + 8 <= end {
        target.storeBytes(of: stamp, toByteOffset: Int(stampStart - offset), as: UInt64.self)
      } else {
        withUnsafeBytes(of: stamp) { stamp in
          for index in 0..<8 {
            let position = stampStart + Int64(index) - offset
            if position >= 0 && position < Int64(target.count) { target[Int(position)] = stamp[index] }
          }
        }
      }
      stampStart += distance
    }
  }

  package func bytes(at offset: Int64 = 0, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      fill(UnsafeMutableRawBufferPointer(buffer), from: offset)
      initialized = count
    }
  }

  package func buffer(at offset: Int64, count: Int) -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
      fill(UnsafeMutableRawBufferPointer(rebasing: target[..<count]), from: offset)
      return count
    }
    return buffer
  }

  /// Writes the first `count` bytes to a file: what an upload test sends.
  package func write(toFile path: String, count: Int64) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw CocoaError(.fileWriteUnknown) }
    defer { try? file.close() }
    try forEachPiece(count: count) { piece, _ in
      try file.write(contentsOf: Data(piece))
      return true
    }
  }

  // MARK: Comparing

  /// The digest of the first `count` bytes; compare it with ``RecordedBody/digest``.
  package func digest(count: Int64) -> UInt64 {
    var digest = BodyDigest()
    forEachPiece(count: count) { piece, _ in
      digest.update(piece)
      return true
    }
    return digest.value
  }

  /// The offset of the first byte of `bytes`, which begin at `offset` of the pattern, that is not the pattern's; nil
  /// when all are.
  package func firstMismatch(in bytes: UnsafeRawBufferPointer, at offset: Int64 = 0) -> Int64? {
    var mismatch: Int64?
    forEachPiece(from: offset, count: Int64(bytes.count)) { piece, start in
      let position = Int(start - offset)
      let actual = UnsafeRawBufferPointer(rebasing: bytes[position..<position + piece.count])
      guard let one = piece.baseAddress, let other = actual.baseAddress, memcmp(one, other, piece.count) != 0 else {
        return true
      }
      mismatch = (0..<piece.count).first { piece[$0] != actual[$0] }.map { start + Int64($0) }
      return false
    }
    return mismatch
  }

  /// Whether `bytes` are the pattern's bytes from `offset` on.
  package func matches(_ bytes: some ContiguousBytes, at offset: Int64 = 0) -> Bool {
    bytes.withUnsafeBytes { firstMismatch(in: $0, at: offset) == nil }
  }

  /// Compares a file with the first `count` bytes of the pattern, reading it piece by piece. nil when they are equal,
  /// otherwise a sentence that says what is wrong.
  package func difference(toFile path: String, count: Int64) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return "cannot open \(path)" }
    defer { try? file.close() }
    var position: Int64 = 0
    do {
      while let data = try file.read(upToCount: Self.pieceSize), !data.isEmpty {
        if let mismatch = data.withUnsafeBytes({ firstMismatch(in: $0, at: position) }) {
          if mismatch >= count { break }
          return "byte \(mismatch) of \(path) is wrong"
        }
        position += Int64(data.count)
      }
      let size = try Int64(file.seekToEnd())
      return size == count ? nil : "\(path) has \(size) bytes instead of \(count)"
    } catch {
      return "cannot read \(path): \(error)"
    }
  }

  /// Whether the file is exactly the first `count` bytes of the pattern.
  package func matches(file path: String, count: Int64) -> Bool {
    difference(toFile: path, count: count) == nil
  }

  private static let pieceSize = 256 * 1024

  /// Makes `count` bytes from `offset` on, a piece at a time, until `body` returns false.
  private func forEachPiece(
    from offset: Int64 = 0, count: Int64, _ body: (UnsafeRawBufferPointer, _ start: Int64) throws -> Bool
  ) rethrows {
    let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer { storage.deallocate() }
    var position = offset
    let end = offset + count
    while position < end {
      let piece = UnsafeMutableRawBufferPointer(rebasing: storage[..<Int(min(Int64(Self.pieceSize), end - position))])
      fill(piece, from: position)
      guard try body(UnsafeRawBufferPointer(piece), position) else { return }
      position += Int64(piece.count)
    }
  }
}
