/// Undoes an encoding of a file, piece by piece. Only the file's data comes out: the resource fork of a file of the
/// classic Mac OS has no place in other file systems.
package protocol FileDecoder {
  /// Decodes bytes of `input`, which it takes away, until there are none left or `output` holds `limit` bytes. What has
  /// been decoded already and found no room comes with the next call, even without input.
  mutating func decode(
    _ input: inout ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int
  ) throws(FileDecodingFailure)

  /// Whether the input so far is a whole file: nothing of it is missing, and all of it has come out.
  var isComplete: Bool { get }
}

/// Why a file can't be decoded.
package struct FileDecodingFailure: Error, Equatable {
  package let sentence: String

  package init(_ sentence: String) { self.sentence = sentence }

  package static let truncated = FileDecodingFailure("The encoded file ends too early.")
}
