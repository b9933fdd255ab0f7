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

  /// A place of a file that can't be understood. The file's own words are not shown: one may be a password.
  struct Damage: Error, Equatable {
    enum Kind: Equatable {
      /// The word stands at the end of the file, or before the next entry's words.
      case noValue(of: String)
      /// The word stands before the first `machine`, or `default`.
      case noEntry(for: String)
      case openQuote
    }

    /// Counted from 1.
    var line: Int
    var kind: Kind

    var sentence: String {
      switch kind {
      case .noValue(let word): "no value follows the word \(word)"
      case .noEntry(let word): "the word \(word) stands before the first machine"
      case .openQuote: "a quotation mark has no second one"
      }
    }
  }

  private(set) var entries: [Entry] = []

  static func read(_ path: String) throws -> NetRC {
    do { return try SecretFile.secret(path).withBytes { try NetRC($0) } } catch let damage as Damage {
      throw CommandFailure(
        .usage, "\(path == "-" ? "standard input" : path), line \(damage.line): \(damage.sentence)",
        advice: "mend that line; an entry is: machine HOST login NAME password PASSWORD")
    }
  }

  /// Words that are not known are passed over, as curl does. Passwords never get into ordinary memory.
  ///
  /// - Throws: `Damage`.
  init(_ text: UnsafeRawBufferPointer) throws {
    var words = Words(text)
    while let word = try words.next() {
      let line = words.line
      switch word {
      case "machine": entries.append(Entry(machine: try words.value(of: word)))
      case "default": entries.append(Entry())
      case "login":
        let login = try words.value(of: word)
        try change(word, line) { $0.login = login }
      case "password":
        let password = try words.secretValue(of: word)
        try change(word, line) { $0.password = password }
      case "account": _ = try words.secretValue(of: word)
      case "macdef": words.skipMacro()
      default: break
      }
    }
  }

  private mutating func change(_ word: String, _ line: Int, _ body: (inout Entry) -> Void) throws {
    guard let last = entries.indices.last else { throw Damage(line: line, kind: .noEntry(for: word)) }
    body(&entries[last])
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
    private let text: UnsafeRawBufferPointer
    private var rest: Slice<UnsafeRawBufferPointer>
    /// The line on which the word begins that was taken last, counted from 1.
    private(set) var line = 1

    init(_ text: UnsafeRawBufferPointer) {
      self.text = text
      rest = text[...]
    }

    mutating func next() throws -> String? { try take { String(decoding: $0, as: UTF8.self) } }

    mutating func value(of word: String) throws -> String {
      try value(of: word) { String(decoding: $0, as: UTF8.self) }
    }

    mutating func secretValue(of word: String) throws -> SecretBytes {
      try value(of: word) { SecretBytes(copying: $0) }
    }

    /// The word that follows `word`. One of the file's own words on a later line begins something else.
    private mutating func value<Value>(
      of word: String, _ make: (UnsafeRawBufferPointer) -> Value
    ) throws -> Value {
      let start = line
      var isOwnWord = false
      let value = try take { bytes in
        isOwnWord = Words.own.contains { $0.utf8.elementsEqual(bytes) }
        return make(bytes)
      }
      guard let value, !(isOwnWord && line > start) else { throw Damage(line: start, kind: .noValue(of: word)) }
      return value
    }

    private static let own = ["machine", "default", "login", "password", "account", "macdef"]

    private mutating func take<Word>(_ make: (UnsafeRawBufferPointer) -> Word) throws -> Word? {
      while true {
        rest = rest.drop { Words.isBlank($0) }
        guard rest.first == UInt8(ascii: "#") else { break }
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      }
      guard let first = rest.first else { return nil }
      line = 1 + text[..<rest.startIndex].count { $0 == UInt8(ascii: "\n") }
      guard first == UInt8(ascii: "\"") else {
        let word = rest.prefix { !Words.isBlank($0) }
        rest = rest.dropFirst(word.count)
        return make(UnsafeRawBufferPointer(rebasing: word))
      }
      rest = rest.dropFirst()
      return try takeQuoted(make)
    }

    private mutating func takeQuoted<Word>(_ make: (UnsafeRawBufferPointer) -> Word) throws -> Word {
      var isClosed = false
      let unescaped = try SecretBytes(capacity: max(rest.count, 1)) { buffer in
        var count = 0
        while let byte = rest.popFirst() {
          isClosed = byte == UInt8(ascii: "\"")
          if isClosed { break }
          buffer[count] = byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte
          count += 1
        }
        return count
      }
      guard isClosed else { throw Damage(line: line, kind: .openQuote) }
      return unescaped.withBytes(make)
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
