import HTTPSemantics

/// Undoes one content coding, piece by piece. Used by one load alone.
///
/// A body is one or more members: gzip members (RFC 1952 §2.2), zstd frames (RFC 8878 §3), or one stream of another
/// coding.
package protocol ContentDecoder: AnyObject {
  /// Whether a body may end here: nothing of a first or further member has been read.
  var isBetweenMembers: Bool { get }

  /// Whether `byte`, after a complete member, can begin another. If not, what follows is padding.
  func beginsMember(_ byte: UInt8) -> Bool

  /// Moves bytes of `input` through until they are used up, `output` is full, or a member ends. What has been decoded
  /// already and found no room comes with the next call, even without input.
  func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(ContentDecodingFailure) -> ContentDecodingProgress
}

package struct ContentDecodingProgress {
  /// Bytes of the input.
  package var consumed: Int
  /// Bytes of the output.
  package var produced: Int
}

package enum ContentDecodingFailure: Error {
  case corrupt(String)
  case noMemory

  var sentence: String {
    switch self {
    case .corrupt(let reason): "The compressed body is corrupt: \(reason)."
    case .noMemory: "There is no memory to decode the compressed body."
    }
  }
}

extension ContentCoding {
  /// nil for codings that are not decoded here. What a decoder keeps is bounded by its window: 32 KiB for gzip and
  /// deflate, 16 MiB for brotli (RFC 7932 §9.1), 8 MiB for zstd (RFC 9659 §3).
  package func makeDecoder() throws(ContentDecodingFailure) -> (any ContentDecoder)? {
    switch self {
    case .gzip: try ZlibDecoder(.gzip)
    case .deflate: try ZlibDecoder(.zlibOrRaw)
    case .brotli: try BrotliDecoder()
    case .zstd: try ZstdDecoder()
    case .identity, .unknown: nil
    }
  }
}
