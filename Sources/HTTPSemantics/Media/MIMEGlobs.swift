/// Media types by file name: the `globs2` files of the shared MIME-info database (freedesktop.org, Shared MIME-info
/// Database §2.6), and the order in which its patterns count (§2.11).
package struct MIMEGlobs: Sendable {
  private struct Glob: Sendable {
    let type: String
    let weight: Int
    /// Of the pattern, in bytes.
    let length: Int
    /// The place of its file: those of a user come behind those of the machine, and win.
    let file: Int
    let isCaseSensitive: Bool

    func wins(over other: Glob) -> Bool {
      if weight != other.weight { return weight > other.weight }
      if length != other.length { return length > other.length }
      return file > other.file
    }
  }

  private struct Pattern: Sendable {
    let bytes: [UInt8]
    let glob: Glob
  }

  /// Patterns without a wildcard.
  private var names: [[UInt8]: [Glob]] = [:]
  /// `*` and text behind it.
  private var suffixes: [[UInt8]: [Glob]] = [:]
  private var others: [Pattern] = []

  /// No known suffix is longer.
  private static let longestSuffix = 64

  /// - Parameter files: the contents of `globs2`, that of the folder of the highest precedence last.
  package init(files: [[UInt8]]) {
    var patterns: [Pattern] = []
    for (number, file) in files.enumerated() {
      let (added, withdrawn) = MIMEGlobs.read(file, number)
      patterns.removeAll { withdrawn.contains($0.glob.type) }
      patterns += added
    }
    for pattern in patterns {
      let wildcards = pattern.bytes.filter(MIMEGlobs.isWildcard).count
      if wildcards == 0 {
        names[pattern.bytes, default: []].append(pattern.glob)
      } else if wildcards == 1, pattern.bytes.first == UInt8(ascii: "*") {
        suffixes[Array(pattern.bytes.dropFirst()), default: []].append(pattern.glob)
      } else {
        others.append(pattern)
      }
    }
  }

  /// The type of files of this name, which has no folder in it; nil where no pattern matches.
  ///
  /// The name counts as it is written. Where no pattern matches it so, it counts in lower case.
  package func mediaType(ofFileNamed name: some Sequence<UInt8>) -> String? {
    let name = Array(name)
    return best(name, inLowerCase: false)?.type ?? best(name.map(\.lowercased), inLowerCase: true)?.type
  }

  private func best(_ name: [UInt8], inLowerCase: Bool) -> Glob? {
    var best: Glob?
    func consider(_ globs: [Glob]?) {
      for glob in globs ?? [] where !inLowerCase || !glob.isCaseSensitive {
        if best.map({ glob.wins(over: $0) }) ?? true { best = glob }
      }
    }
    consider(names[name])
    for start in max(0, name.count - MIMEGlobs.longestSuffix)..<max(0, name.count) {
      consider(suffixes[Array(name[start...])])
    }
    for pattern in others where Wildcard.matches(pattern.bytes, name, step: MIMEGlobs.step) { consider([pattern.glob]) }
    return best
  }

  // MARK: The file

  /// Lines are `weight:type:pattern`, and perhaps `:flags` behind it. The pattern `__NOGLOBS__` withdraws what files of
  /// lower precedence say of the type.
  private static func read(_ file: [UInt8], _ number: Int) -> (patterns: [Pattern], withdrawn: Set<String>) {
    var patterns: [Pattern] = []
    var withdrawn: Set<String> = []
    for line in file.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      guard fields.count >= 3, let weight = Int64(decimalDigits: fields[0]), weight <= 100, !fields[2].isEmpty,
        let type = MediaType(standard: fields[1]), type.parameters.all.isEmpty
      else { continue }
      let name = String(decoding: fields[1], as: UTF8.self)
      if fields[2].elementsEqual("__NOGLOBS__".utf8) {
        withdrawn.insert(name)
        continue
      }
      let flags = fields.count > 3 ? fields[3].split(separator: UInt8(ascii: ",")) : []
      patterns.append(
        Pattern(
          bytes: Array(fields[2]),
          glob: Glob(
            type: name, weight: Int(weight), length: fields[2].count, file: number,
            isCaseSensitive: flags.contains { $0.elementsEqual("cs".utf8) })))
    }
    return (patterns, withdrawn)
  }

  // MARK: Patterns

  private static func isWildcard(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "[")
  }

  /// fnmatch(3) without its options: `*` (see `Wildcard`), `?`, and `[…]` with ranges and `!`.
  private static func step(_ pattern: [UInt8], _ at: Int, _ byte: UInt8) -> Int? {
    guard pattern[at] == UInt8(ascii: "["), let end = pattern[(at + 1)...].dropFirst().firstIndex(of: UInt8(ascii: "]"))
    else { return pattern[at] == UInt8(ascii: "?") || pattern[at] == byte ? at + 1 : nil }
    var set = pattern[(at + 1)..<end]
    let isNegated = set.first == UInt8(ascii: "!")
    if isNegated { set.removeFirst() }
    var isMember = false
    while let first = set.popFirst() {
      var last = first
      if set.count >= 2, set.first == UInt8(ascii: "-") {
        set.removeFirst()
        last = set.popFirst() ?? first
      }
      if first <= byte, byte <= last { isMember = true }
    }
    return isMember != isNegated ? end + 1 : nil
  }
}
