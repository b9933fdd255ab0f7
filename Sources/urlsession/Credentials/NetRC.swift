import Foundation

/// The user names and passwords of a netrc file, as ftp(1) and curl read it.
struct NetRC: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    /// nil for the entry `default`.
    var machine: String?
    var login: String?
    var password: String?
  }

  private(set) var entries: [Entry] = []

  static func read(_ path: String) throws -> NetRC {
    try SecretFile.checkPermissions(path)
    return NetRC(String(decoding: try SecretFile.content(path), as: UTF8.self))
  }

  /// Reads what it can: words that are not known are passed over.
  init(_ text: String) {
    var words = Words(text)
    while let word = words.next() {
      switch word {
      case "machine": entries.append(Entry(machine: words.next()))
      case "default": entries.append(Entry())
      case "login": set(\.login, words.next())
      case "password": set(\.password, words.next())
      case "account": _ = words.next()
      case "macdef": words.skipMacro()
      default: break
      }
    }
  }

  private mutating func set(_ property: WritableKeyPath<Entry, String?>, _ value: String?) {
    guard let last = entries.indices.last else { return }
    entries[last][keyPath: property] = value
  }

  /// The first entry of a host, else `default`. With a `login`, only an entry of that user.
  func entry(for host: String, login: String? = nil) -> Entry? {
    entries.first { entry in
      guard entry.machine == nil || entry.machine?.lowercased() == host.lowercased() else { return false }
      return login == nil || entry.login == login
    }
  }

  /// Words parted by blanks; one in quotes may hold blanks, and a backslash there takes the next character as it is.
  private struct Words {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    mutating func next() -> String? {
      while true {
        rest = rest.drop { Words.isBlank($0) }
        guard rest.first == UInt8(ascii: "#") else { break }
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      }
      guard let first = rest.first else { return nil }
      guard first == UInt8(ascii: "\"") else {
        let word = rest.prefix { !Words.isBlank($0) }
        rest = rest.dropFirst(word.count)
        return String(Substring(word))
      }
      rest = rest.dropFirst()
      var bytes: [UInt8] = []
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// A macro ends with an empty line.
    mutating func skipMacro() {
      while !rest.isEmpty {
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(line.count + 1)
        if line.allSatisfy({ Words.isBlank($0) }) { return }
      }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
  }
}
