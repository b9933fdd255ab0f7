import HTTPSemantics

extension FuzzTarget {
  /// What FTP servers say, and what is said to them because of a URL.
  static let ftpReplies = FuzzTarget("ftp-replies") { bytes in
    let (choice, rest) = bytes.choice
    let whole = read([rest[...]])
    let pieces = read(rest.pieces(of: choice % 16 + 1))
    try require(whole == pieces, "\(whole) at once; \(pieces) in pieces")
    for reply in whole.replies {
      try require((100...599).contains(reply.code), "code \(reply.code)")
      try require((1...FTPReplyReader.mostLines).contains(reply.lines.count), "\(reply.lines.count) lines")
      try require(
        reply.lines.allSatisfy { !$0.contains(UInt8(ascii: "\n")) && $0.count <= FTPReplyReader.longestLine },
        "a line that is none")
      for port in [reply.passivePort, reply.extendedPassivePort] {
        try require(port.map { (1...65_535).contains($0) } ?? true, "port \(port ?? 0)")
      }
      try require(reply.size ?? 0 >= 0, "size \(reply.size ?? 0)")
      try require(!reply.sentence.utf8.contains { $0 < 0x20 }, "a control character in a sentence")
      for question: FTPFailure.Question in [.greeting, .login, .name, .other("SIZE"), .end] {
        _ = FTPFailure(reply, to: question).phrase
      }
    }
    try check(url: "ftp://" + rest.text)
    try check(url: "ftp://h/" + rest.text)
  }

  private struct Reading: Equatable {
    var replies: [FTPReply] = []
    var failure: FTPReplyReader.Malformation?
  }

  private static func read(_ pieces: [ArraySlice<UInt8>]) -> Reading {
    var reader = FTPReplyReader()
    var reading = Reading()
    do throws(FTPReplyReader.Malformation) {
      for piece in pieces {
        reader.append(piece)
        while let reply = try reader.next() { reading.replies.append(reply) }
      }
    } catch { reading.failure = error }
    return reading
  }

  private static func check(url: String) throws {
    guard let resource = try? FTPResource(parsing: url) else { return }
    let commands =
      [resource.login.user, FTPCommand(FTPLogin.passwordVerb, resource.login.withPassword { Array($0) })]
      + resource.steps
      + [resource.type, resource.retrieval, resource.storage, resource.appending] + (resource.size.map { [$0] } ?? [])
    for command in commands {
      guard let line = command.line else { throw Contradiction("\(command) can't be sent") }
      let inner = line.dropLast(2)
      try require(
        line.suffix(2).elementsEqual([0x0D, 0x0A]) && !inner.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D },
        "\(command) is more than one line")
    }
  }
}
