import HTTPSemantics
import URLLoadingSystem

extension FuzzTarget {
  /// Compressed bodies, in pieces, with little room for what comes out.
  static let codings = FuzzTarget("codings") { bytes in
    let (choice, rest) = bytes.choice
    let coding: ContentCoding = [.gzip, .deflate, .brotli, .zstd][choice & 3]
    let pieceSize = choice >> 2 & 15 + 1
    let outputSize = choice & 0x40 == 0 ? 16 : 4_096
    let whole = try decode([rest[...]], coding, outputSize: 65_536)
    let pieces = try decode(rest.pieces(of: pieceSize), coding, outputSize: outputSize)
    // How much comes out before an error is noticed depends on the pieces.
    if whole.isCutShort, pieces.isCutShort { return }
    try require(whole == pieces, "in pieces of \(pieceSize): \(pieces); at once: \(whole)")
  }

  private struct Decoded: Equatable {
    var bytes: [UInt8] = []
    /// The end is the end of a member.
    var isComplete = true
    /// An error came, or more came out than is looked at.
    var isCutShort = false
  }

  /// Gives a decoder what `DecodingBody` gives it.
  private static func decode(
    _ pieces: [ArraySlice<UInt8>], _ coding: ContentCoding, outputSize: Int
  ) throws -> Decoded {
    var decoded = Decoded()
    var output = [UInt8](repeating: 0, count: outputSize)
    do {
      guard let decoder = try coding.makeDecoder() else { return decoded }
      var hasBegun = false
      for piece in pieces {
        var rest = piece
        var wasFull = false
        while !rest.isEmpty || wasFull {
          if hasBegun, decoder.isBetweenMembers, let first = rest.first, !decoder.beginsMember(first) { return decoded }
          let progress = try rest.withUnsafeBytes { source in
            try output.withUnsafeMutableBytes { target in try decoder.decode(source, into: target) }
          }
          let isStuck = progress.consumed == 0 && progress.produced == 0 && !rest.isEmpty
          try require(!isStuck, "the decoder does not go on")
          try require(progress.consumed <= rest.count && progress.produced <= outputSize, "\(progress)")
          hasBegun = true
          decoded.bytes += output[..<progress.produced]
          decoded.isComplete = decoder.isBetweenMembers
          rest = rest.dropFirst(progress.consumed)
          wasFull = progress.produced == outputSize && !decoder.isBetweenMembers
          if decoded.bytes.count > 1 << 18 { return Decoded(isCutShort: true) }
        }
      }
      return decoded
    } catch is ContentDecodingFailure {
      return Decoded(isCutShort: true)
    }
  }
}
