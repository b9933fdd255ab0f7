import HTTPSemantics

extension FuzzTarget {
  /// The listings of FTP servers, and what they say of the listings that they can make.
  static let ftpListings = FuzzTarget("ftp-listings") { bytes in
    let (choice, rest) = bytes.choice
    let form: FTPListingReader.Form = choice & 1 == 0 ? .facts : .lines
    let whole = read(form, [rest[...]])
    let pieces = read(form, rest.pieces(of: choice >> 1 % 16 + 1))
    try require(whole == pieces, "\(pieces.text) in pieces; \(whole.text) at once")
    let lineCount = rest.count { $0 == UInt8(ascii: "\n") } + 1
    try require(whole.count <= rest.count + lineCount * longestFrame, "\(whole.count) bytes of \(rest.count)")
    let lines = whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    try require(lines.last?.isEmpty ?? true, "the last line does not end")
    try require(lines.dropLast().allSatisfy { $0.count > 1 && $0.last == UInt8(ascii: "\r") }, "a line without its end")
    // Lines in the form that all listings get stay as they are.
    if lines.allSatisfy({ $0.count <= FTPListingReader.longestLine }) {
      let again = read(.lines, [whole[...]])
      try require(again == whole, "\(again.text) read again; \(whole.text) before")
    }
    try check(features: rest)
  }

  /// A line without its name, its owner and its group, whose places are padded.
  private static let longestFrame = 96

  private static func read(_ form: FTPListingReader.Form, _ pieces: [ArraySlice<UInt8>]) -> [UInt8] {
    var reader = FTPListingReader(form, at: 1_600_000_000)
    var output: [UInt8] = []
    for piece in pieces { output += reader.read(piece) }
    return output + reader.finish()
  }

  private static func check(features bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    let features = FTPFeatures(FTPReply(code: 211, lines: [[]] + lines + [[]]))
    guard let choice = features.choiceOfFacts else { return }
    try require(features.listsFacts, "facts are chosen of a listing that there is not")
    guard let line = choice.line else { throw Contradiction("\(choice) can't be sent") }
    let isLegal = line.dropLast(2).allSatisfy { $0 > 0x1F && $0 < 0x7F }
    try require(isLegal && line.count <= bytes.count + 12, "\(choice)")
  }
}
