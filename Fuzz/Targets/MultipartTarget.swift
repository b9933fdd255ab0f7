import HTTPSemantics

extension FuzzTarget {
  /// `multipart/x-mixed-replace`, with several boundaries, the odd ones too.
  static let multipart = FuzzTarget("multipart") { bytes in
    let (choice, rest) = bytes.choice
    let boundary = ["b", "--b", "----", "a b"][choice & 3]
    let whole = try PartReading([rest[...]], boundary: boundary)
    for size in Set([1, choice >> 2 + 1]) {
      let other = try PartReading(rest.pieces(of: size), boundary: boundary)
      try require(other == whole, "in pieces of \(size): \(other); at once: \(whole)")
    }
    _ = MixedReplaceParser.boundary(in: rest.text)
  }
}

private struct PartReading: Equatable {
  var events: [MixedReplaceParser.Event] = []
  var failure: MixedReplaceParser.Failure?

  init(_ pieces: [ArraySlice<UInt8>], boundary: String) throws {
    var limits = MixedReplaceParser.Limits()
    limits.headBytes = 256
    limits.fields = 8
    var parser = MixedReplaceParser(boundary: boundary, limits: limits)
    var isInPart = false
    do throws(any Error) {
      for piece in pieces {
        parser.append(piece)
        while let event = try parser.next() { try add(event, &isInPart) }
      }
      parser.end()
      while let event = try parser.next() { try add(event, &isInPart) }
      try require(!isInPart, "the last part has no end")
    } catch let failure as MixedReplaceParser.Failure {
      self.failure = failure
    }
  }

  private mutating func add(_ event: MixedReplaceParser.Event, _ isInPart: inout Bool) throws {
    switch event {
    case .head:
      try require(!isInPart, "a part inside a part")
      isInPart = true
    case .body(let bytes):
      try require(isInPart && !bytes.isEmpty, "a body outside a part, or an empty one")
      if case .body(let before)? = events.last {
        events[events.count - 1] = .body(before + bytes)
        return
      }
    case .endOfPart:
      try require(isInPart, "the end of no part")
      isInPart = false
    }
    events.append(event)
  }
}
