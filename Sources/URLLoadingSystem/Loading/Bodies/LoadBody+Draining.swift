extension LoadBody {
  /// Takes the rest where it is here already, as that of a response without a body is, so that the connection can serve the
  /// next request; gives it up otherwise.
  func finish() {
    var count = 0
    while count < 8, case .bytes? = try? takePart() { count += 1 }
    // After the end there is nothing to give up.
    discard()
  }

  /// Reads a short rest to its end, so that the connection can serve the next request, and gives up a longer one.
  ///
  /// - Parameter limit: How many bytes are read at most.
  package func drain(atMost limit: Int = 64 * 1024) async {
    var budget = limit
    while budget > 0 {
      guard let bytes = try? await next() else { return discard() }
      budget -= bytes.readableBytes
    }
    discard()
  }
}
