import HTTPSemantics

/// Undoes gzip of a file: of all its members, and without what follows the last.
struct GzipFileDecoder: FileDecoder {
  private let decoder: any ContentDecoder
  private var hasBegun = false
  private var isPadding = false
  /// The decoder may have more than there was room for.
  private var wasFull = false

  init() throws(FileDecodingFailure) {
    do { decoder = try ZlibDecoder(.gzip) } catch { throw FileDecodingFailure(error.sentence) }
  }

  var isComplete: Bool { hasBegun && decoder.isBetweenMembers && !wasFull }

  mutating func decode(
    _ input: inout ArraySlice<UInt8>, into output: inout [UInt8], upTo limit: Int
  ) throws(FileDecodingFailure) {
    while output.count < limit, !input.isEmpty || wasFull {
      if hasBegun, decoder.isBetweenMembers, !wasFull, let first = input.first, !decoder.beginsMember(first) {
        isPadding = true
      }
      if isPadding {
        input = []
        return
      }
      let room = min(limit - output.count, 64 * 1024)
      let source = input
      var progress = ContentDecodingProgress(consumed: 0, produced: 0)
      var failure: ContentDecodingFailure?
      let piece = [UInt8](unsafeUninitializedCapacity: room) { target, count in
        source.withUnsafeBytes { bytes in
          do throws(ContentDecodingFailure) {
            progress = try decoder.decode(
              bytes, into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: target.prefix(room))))
          } catch { failure = error }
        }
        count = progress.produced
      }
      if let failure { throw FileDecodingFailure(failure.sentence) }
      hasBegun = true
      output.append(contentsOf: piece)
      input = input.dropFirst(progress.consumed)
      wasFull = progress.produced == room && !decoder.isBetweenMembers
      if progress.consumed == 0, progress.produced == 0 { return }
    }
  }
}
