import Foundation
import SystemServices

/// The user names and passwords of a netrc file, as ftp(1) and curl read it.
struct NetRC: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    /// nil for the entry `default`.
    var machine: String?
    var login: String?
    var password: SecretBytes?
  }

  private(set) var entries: [Entry] = []

  static func read(_ path: String) throws -> NetRC { try SecretFile.secret(path).withBytes { NetRC($0) } }

  /// Reads what it can: words that are not known are passed over. Passwords never get into ordinary memory.
  init(_ text: UnsafeRawBufferPointer) {
    var words = Words(text)
    while let word = words.next() {
      switch word {
      case "machine": entries.append(Entry(machine: words.next()))
      case "default": entries.append(Entry())
      case "login": change { $0.login = words.next() }
      case "password": change { $0.password = words.nextSecret() }
      case "account": _ = words.nextSecret()
      case "macdef": words.skipMacro()
      default: break
      }
    }
  }

  private mutating func change(_ body: (inout Entry) -> Void) {
    // A word without an entry is read all the same.
    var none = Entry()
    if let last = entries.indices.last { body(&entries[last]) } else { body(&none) }
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
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ text: UnsafeRawBufferPointer) { rest = text[...] }

    mutating func next() -> String? { take { String(decoding: $0, as: UTF8.self) } }

    mutating func nextSecret() -> SecretBytes? { take { SecretBytes(copying: $0) } }

    private mutating func take<Word>(_ make: (UnsafeRawBufferPointer) -> Word) -> Word? {
      while true {
        rest = rest.drop { Words.isBlank($0) }
        guard rest.first == UInt8(ascii: "#") else { break }
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      }
      guard let first = rest.first else { return nil }
      guard first == UInt8(ascii: "\"") else {
        let word = rest.prefix { !Words.isBlank($0) }
        rest = rest.dropFirst(word.count)
        return make(UnsafeRawBufferPointer(rebasing: word))
      }
      rest = rest.dropFirst()
      return takeQuoted(make)
    }

    private mutating func takeQuoted<Word>(_ make: (UnsafeRawBufferPointer) -> Word) -> Word? {
      let unescaped = try? SecretBytes(capacity: max(rest.count, 1)) { buffer in
        var count = 0
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
          buffer[count] = byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte
          count += 1
        }
        return count
      }
      return unescaped?.withBytes(make)
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
