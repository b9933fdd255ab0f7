/// The extensions that an FTP server knows (RFC 2389 §3), as far as they are used.
package struct FTPFeatures: Sendable, Equatable {
  /// Whether folders can be listed for programs (MLSD, RFC 3659 §7).
  package let listsFacts: Bool
  /// The choice of facts that the server is to be told first, where it leaves out some that a listing shows (RFC 3659
  /// §7.9); nil where there is none.
  package let choiceOfFacts: FTPCommand?

  /// A server that has no extensions, or does not tell.
  package static let none = FTPFeatures(listsFacts: false, choiceOfFacts: nil)

  private init(listsFacts: Bool, choiceOfFacts: FTPCommand?) {
    self.listsFacts = listsFacts
    self.choiceOfFacts = choiceOfFacts
  }

  /// - Parameter reply: The answer to FEAT.
  package init(_ reply: FTPReply) {
    // The first line and the last one are text for people (RFC 2389 §3.2).
    guard reply.code == 211, reply.lines.count > 2 else {
      self = .none
      return
    }
    var listsFacts = false
    var facts: [ArraySlice<UInt8>] = []
    for line in reply.lines.dropFirst().dropLast() {
      let words = line.drop(while: \.isHTTPWhitespace).split(separator: UInt8(ascii: " "), maxSplits: 1)
      let name = words.first.map { String(decoding: $0.map(\.lowercased), as: UTF8.self) }
      // RFC 3659 §7.8: MLST stands for both commands; some servers name MLSD.
      guard name == "mlst" || name == "mlsd" else { continue }
      listsFacts = true
      if words.count > 1 { facts = words[1].split(separator: UInt8(ascii: ";")) }
    }
    self.init(listsFacts: listsFacts, choiceOfFacts: FTPFeatures.choice(of: facts))
  }

  /// The facts that a line of a listing is made of, besides the name.
  private static let shownFacts: Set<String> = [
    "type", "size", "sizd", "modify", "unix.mode", "unix.owner", "unix.group", "unix.ownername", "unix.groupname",
    "unix.uid", "unix.gid",
  ]

  /// RFC 3659 §7.8: a star marks the facts that are sent without being asked for.
  private static func choice(of facts: [ArraySlice<UInt8>]) -> FTPCommand? {
    var names: [UInt8] = []
    var isComplete = true
    for fact in facts {
      let isSent = fact.last == UInt8(ascii: "*")
      let name = isSent ? fact.dropLast() : fact
      guard shownFacts.contains(String(decoding: name.map(\.lowercased), as: UTF8.self)) else { continue }
      names += name + [UInt8(ascii: ";")]
      if !isSent { isComplete = false }
    }
    return isComplete ? nil : FTPCommand("OPTS", Array("MLST ".utf8) + names)
  }
}
