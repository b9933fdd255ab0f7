import HTTPSemantics

/// Decodes `bytes`, given in pieces of `size` bytes, with room for `limit` bytes at a time. nil for a file that ends too
/// early.
func decoded(
  _ bytes: [UInt8], by decoder: some FileDecoder, piece size: Int = 1 << 20, limit: Int = 1 << 20
) throws -> [UInt8]? {
  var decoder = decoder
  var result: [UInt8] = []
  var rest = bytes[...]
  while true {
    var piece = rest.prefix(size)
    rest = rest.dropFirst(size)
    let isLast = rest.isEmpty
    while true {
      var output: [UInt8] = []
      try decoder.decode(&piece, into: &output, upTo: limit)
      guard output.count <= limit else { throw FileDecodingFailure("more than there is room for") }
      result += output
      if piece.isEmpty, output.count < limit { break }
    }
    if isLast { return decoder.isComplete ? result : nil }
  }
}
