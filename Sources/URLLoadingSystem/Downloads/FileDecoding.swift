import HTTPSemantics

/// The decoders of a file with several encodings, outermost first.
package struct FileDecoding {
  private var decoders: [any FileDecoder]
  /// The bytes that each decoder has still to take.
  private var inputs: [ArraySlice<UInt8>]

  /// Bytes that come out at a time, at most.
  package static let pieceSize = 256 * 1024
  /// Bytes that go from one decoder to the next at a time.
  private static let stepSize = 64 * 1024
  /// Bytes that decoders give each other in one call, at most: most of them may be dropped on the way, as padding.
  private static let workSize = 1024 * 1024

  /// Bytes that decoders may still give each other in the present call.
  private var work = 0

  package init(_ encodings: [FileEncoding]) throws(FileDecodingFailure) {
    decoders = []
    for encoding in encodings {
      switch encoding {
      case .gzip: decoders.append(try GzipFileDecoder())
      case .macBinary: decoders.append(MacBinaryDecoder())
      case .binHex: decoders.append(BinHexDecoder())
      }
    }
    inputs = decoders.map { _ in [] }
  }

  /// Whether the input so far is a whole file.
  package var isComplete: Bool { decoders.allSatisfy(\.isComplete) && inputs.allSatisfy(\.isEmpty) }

  package mutating func add(_ bytes: [UInt8]) { inputs[0] += bytes }

  /// The next bytes of the file, none after much work that made no bytes; nil when more must be added first.
  package mutating func next() throws(FileDecodingFailure) -> [UInt8]? {
    work = FileDecoding.workSize
    let output = try decode(at: decoders.count - 1, upTo: FileDecoding.pieceSize)
    return output.isEmpty && work > 0 ? nil : output
  }

  /// The output of decoder `index`, whose input those before it fill.
  private mutating func decode(at index: Int, upTo limit: Int) throws(FileDecodingFailure) -> [UInt8] {
    var output: [UInt8] = []
    while true {
      try decoders[index].decode(&inputs[index], into: &output, upTo: limit)
      guard output.count < limit, index > 0, work > 0 else { return output }
      let more = try decode(at: index - 1, upTo: FileDecoding.stepSize)
      if more.isEmpty { return output }
      work -= more.count
      inputs[index] += more
    }
  }
}
