/// A line to an FTP server (RFC 959 §4.1, RFC 2428, RFC 3659).
package struct FTPCommand: Sendable, Equatable {
  package let verb: String
  package let argument: [UInt8]?

  package init(_ verb: String, _ argument: [UInt8]? = nil) {
    self.verb = verb
    self.argument = argument
  }

  /// The bytes on the wire. nil when the argument would end the line early.
  package var line: [UInt8]? {
    guard let argument else { return Array(verb.utf8) + [0x0D, 0x0A] }
    guard !argument.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return nil }
    return Array(verb.utf8) + [0x20] + argument + [0x0D, 0x0A]
  }
}

extension FTPCommand {
  /// RFC 2428 §2: the server is to connect to `address`, of either family.
  package static func extendedPort(_ address: IPAddressText, _ text: String, _ port: Int) -> FTPCommand {
    FTPCommand("EPRT", Array("|\(address.isIPv4 ? 1 : 2)|\(text)|\(port)|".utf8))
  }

  /// RFC 959 §4.1.2: the same for IPv4, as all servers know it. nil for other addresses.
  package static func port(_ address: IPAddressText, _ port: Int) -> FTPCommand? {
    guard address.isIPv4 else { return nil }
    let numbers = address.bytes.map { Int($0) } + [port >> 8 & 0xff, port & 0xff]
    return FTPCommand("PORT", Array(numbers.map { String($0) }.joined(separator: ",").utf8))
  }
}

extension FTPCommand {
  /// RFC 3659 §5.3: the next transfer begins behind so many bytes.
  package static func restart(at offset: Int64) -> FTPCommand { FTPCommand("REST", Array(String(offset).utf8)) }

  /// RFC 2389 §3: the extensions that the server knows.
  package static let features = FTPCommand("FEAT")

  /// RFC 4217 §4: the control connection becomes a TLS connection behind the reply.
  package static let beginTLS = FTPCommand("AUTH", Array("TLS".utf8))
  /// RFC 4217 §9: says that there is no buffer to agree on, which the next command wants to have been said.
  package static let protectionBuffer = FTPCommand("PBSZ", Array("0".utf8))
  /// RFC 4217 §9: data connections are TLS connections too.
  package static let protectData = FTPCommand("PROT", Array("P".utf8))
}

extension FTPResource {
  /// The login that the URL names; the anonymous one where it names no user.
  package var login: FTPLogin { user.flatMap { FTPLogin(user: $0, password: password ?? []) } ?? .anonymous }

  /// The way to the folder, one step at a time: what a slash means is the URL's business, not the server's.
  package var steps: [FTPCommand] { folders.map { FTPCommand("CWD", $0) } }

  package var type: FTPCommand {
    switch kind {
    case .image: FTPCommand("TYPE", [UInt8(ascii: "I")])
    // RFC 959 §4.1.3: listings are text.
    case .text, .listing, .names: FTPCommand("TYPE", [UInt8(ascii: "A")])
    }
  }

  /// RFC 3659 §4: the size depends on the type, and of text few servers tell it.
  package var size: FTPCommand? { kind == .image ? FTPCommand("SIZE", name) : nil }

  /// RFC 3659 §3: when the file was changed last.
  package var date: FTPCommand? { kind == .image ? FTPCommand("MDTM", name) : nil }

  /// RFC 959 §4.1.3: the file is made, or its contents are replaced.
  package var storage: FTPCommand { FTPCommand("STOR", name) }

  /// RFC 959 §4.1.3: the file is made, or the data is added to its end.
  package var appending: FTPCommand { FTPCommand("APPE", name) }

  /// RFC 3659 §7: the folder, with a line of facts for each name, made for programs.
  package var facts: FTPCommand { FTPCommand("MLSD") }

  package var retrieval: FTPCommand {
    switch kind {
    case .image, .text: FTPCommand("RETR", name)
    // Without an argument, which might be taken for an option.
    case .listing: FTPCommand("LIST")
    case .names: FTPCommand("NLST")
    }
  }
}
