extension FTPListingEntry {
  /// The meaning of a line of MLSD (RFC 3659 §7.2): `fact=value;fact=value; name`.
  package enum FactsLine: Sendable, Equatable {
    case entry(FTPListingEntry)
    /// The folder itself (cdir), or the one that it is in (pdir).
    case folderItself
    /// No line that MLSD may send.
    case malformed
  }

  /// Reads a line of MLSD, without its end. A known fact with a value that makes no sense is as one that is missing, and
  /// facts that are not known are left out (RFC 3659 §7.5).
  package static func reading(facts line: some Collection<UInt8>) -> FactsLine {
    guard let space = line.firstIndex(of: 0x20) else { return .malformed }
    let name = Array(line[line.index(after: space)...])
    guard !name.isEmpty else { return .malformed }
    var entry = FTPListingEntry(name: name)
    var facts: [String: [UInt8]] = [:]
    for fact in line[..<space].split(separator: UInt8(ascii: ";")) {
      guard let equals = fact.firstIndex(of: UInt8(ascii: "=")), equals != fact.startIndex else { return .malformed }
      let key = String(decoding: fact[..<equals].map(\.lowercased), as: UTF8.self)
      facts[key] = Array(fact[fact.index(after: equals)...])
    }
    if let type = facts["type"] {
      switch String(decoding: type.map(\.lowercased), as: UTF8.self) {
      case "cdir", "pdir": return .folderItself
      case "dir": entry.kind = .folder
      case "file": entry.kind = .file
      case let type where type.hasPrefix("os."): entry.kind = kind(ofSystem: type, facts["type"] ?? [])
      default: entry.kind = .other(UInt8(ascii: "?"))
      }
    }
    entry.size = (facts["size"] ?? facts["sizd"]).flatMap { Int64(decimalDigits: $0) }
    entry.date = facts["modify"].flatMap { FTPTime.parse($0) }
    entry.mode = facts["unix.mode"].flatMap { mode(octal: $0) }
    entry.owner = facts["unix.ownername"] ?? facts["unix.owner"] ?? facts["unix.uid"]
    entry.group = facts["unix.groupname"] ?? facts["unix.group"] ?? facts["unix.gid"]
    return .entry(entry)
  }

  /// RFC 3659 §7.5.1.5: `OS.system=kind`. Servers on Unix name links and devices so.
  private static func kind(ofSystem type: String, _ value: [UInt8]) -> Kind {
    guard let equals = type.firstIndex(of: "=") else { return .other(UInt8(ascii: "?")) }
    let word = type[type.index(after: equals)...]
    if word.hasPrefix("slink") || word.hasPrefix("symlink") {
      guard let colon = value.firstIndex(of: UInt8(ascii: ":")), colon + 1 < value.count else { return .link(to: nil) }
      return .link(to: Array(value[(colon + 1)...]))
    }
    for (name, letter) in [("chr", "c"), ("blk", "b"), ("fifo", "p"), ("pipe", "p"), ("sock", "s")]
    where word.hasPrefix(name) {
      return .other(letter.utf8.first ?? UInt8(ascii: "?"))
    }
    return .other(UInt8(ascii: "?"))
  }

  private static func mode(octal digits: [UInt8]) -> UInt16? {
    guard (1...7).contains(digits.count), let mode = UInt32(String(decoding: digits, as: UTF8.self), radix: 8),
      digits.allSatisfy(\.isDigit)
    else { return nil }
    return UInt16(mode & 0o7777)
  }
}
