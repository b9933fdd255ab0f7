import HTTPSemantics
import URLLoadingSystem

extension FuzzTarget {
  /// Files in MacBinary, BinHex and gzip, one in the other, in pieces.
  static let encodedFiles = FuzzTarget("encoded-files") { bytes in
    let (choice, rest) = bytes.choice
    let encodings = layers[choice % layers.count]
    let pieceSize = choice / layers.count + 1
    let whole = try decode([rest[...]], encodings)
    let pieces = try decode(rest.pieces(of: pieceSize), encodings)
    try require(whole.bytes.count <= rest.count * most(encodings) + 1024, "\(whole.bytes.count) bytes of \(rest.count)")
    // How much comes out before an error is noticed depends on the pieces.
    if whole.isCutShort || pieces.isCutShort {
      try require(
        whole.bytes.starts(with: pieces.bytes) || pieces.bytes.starts(with: whole.bytes),
        "in pieces of \(pieceSize) other bytes come out")
    } else {
      try require(whole == pieces, "in pieces of \(pieceSize): \(pieces); at once: \(whole)")
    }
    try check(name: rest.text)
  }

  private static let layers: [[FileEncoding]] = [
    [.binHex], [.macBinary], [.gzip], [.gzip, .binHex], [.binHex, .macBinary], [.macBinary, .gzip],
    [.binHex, .gzip, .macBinary],
  ]

  private struct Decoded: Equatable {
    var bytes: [UInt8] = []
    var isComplete = false
    /// An error came, or more came out than is looked at.
    var isCutShort = false
  }

  /// How many bytes one byte can become: a run of BinHex is two bytes for 254, in Base64's proportion; of deflate the
  /// format allows 1,032.
  private static func most(_ encodings: [FileEncoding]) -> Int {
    encodings.reduce(1) { product, encoding in
      switch encoding {
      case .binHex: product * 128
      case .gzip: product * 1_040
      case .macBinary: product
      }
    }
  }

  private static func decode(_ pieces: [ArraySlice<UInt8>], _ encodings: [FileEncoding]) throws -> Decoded {
    var decoded = Decoded()
    do {
      var decoding = try FileDecoding(encodings)
      for piece in pieces {
        decoding.add(Array(piece))
        var idleCalls = 0
        while let output = try decoding.next() {
          try require(output.count <= FileDecoding.pieceSize, "a piece of \(output.count) bytes")
          decoded.bytes += output
          idleCalls = output.isEmpty ? idleCalls + 1 : 0
          try require(idleCalls < 4_096, "the decoder does not go on")
          guard decoded.bytes.count <= 1 << 20 else {
            decoded.isCutShort = true
            return decoded
          }
        }
      }
      decoded.isComplete = decoding.isComplete
    } catch is FileDecodingFailure { decoded.isCutShort = true }
    return decoded
  }

  private static func check(name: String) throws {
    for type in [nil, "application/octet-stream", "application/mac-binhex40"] {
      let layers = FileEncoding.layers(mediaType: type, filename: name)
      try require(layers.count <= FileEncoding.allCases.count, "\(layers.count) layers")
      var rest = name
      for layer in layers { rest = layer.decodedName(rest) }
      try require(rest.utf8.count <= name.utf8.count, "the name grows to \(rest)")
    }
  }
}
