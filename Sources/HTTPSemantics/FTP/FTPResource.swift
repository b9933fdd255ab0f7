/// The resource that an `ftp:` or `ftps:` URL names, and whom to log in as (RFC 1738 §3.2).
///
/// Each part of the path but the last is a folder to change to, relative to where the login ends; an escaped slash is
/// part of a name, so that `ftp://host/%2Fetc/motd` begins at the root, and so does `ftp://host//etc/motd`, as browsers
/// have it. A `?` is a character like any other: URLs of this scheme have no query.
package struct FTPResource: Sendable, Equatable {
  /// How the file is asked for.
  package enum Kind: Sendable, Equatable {
    /// The bytes as they are (TYPE I). The default.
    case image
    /// `;type=a`: as text, its lines ended with CR LF (TYPE A).
    case text
    /// A path that ends in a slash: the folder, as the server shows it to people (LIST).
    case listing
    /// `;type=d`: the names in the folder (NLST).
    case names
  }

  /// nil: the login is anonymous.
  package let user: [UInt8]?
  package let password: [UInt8]?
  package let folders: [[UInt8]]
  /// Empty for a folder.
  package let name: [UInt8]
  package let kind: Kind

  package enum Malformation: Error, Sendable, Equatable, CaseIterable {
    case notAnFTPURL
    /// It would end a command and begin another one.
    case lineEnd
    case unknownType

    package var sentence: String {
      switch self {
      case .notAnFTPURL: "The URL is no ftp or ftps URL."
      case .lineEnd: "The URL has a line end or a NUL in it, which no FTP command can carry."
      case .unknownType: "The URL ends with a type other than a, i and d."
      }
    }
  }

  /// - Parameter url: the whole URL. A fragment is not part of the name.
  package init(parsing url: String) throws(Malformation) {
    let bytes = Array(url.utf8)
    let prefix = ["ftp://", "ftps://"].first { prefix in
      bytes.count >= prefix.utf8.count && zip(bytes, prefix.utf8).allSatisfy { $0.lowercased == $1 }
    }
    guard let prefix else { throw .notAnFTPURL }
    let whole = bytes.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "#") }
    let authority = whole.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    var path = whole[authority.endIndex...]
    if path.first == UInt8(ascii: "/") { path.removeFirst() }

    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      let parts = authority[..<at].split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      user = try FTPResource.decoded(parts.first ?? [])
      password = parts.count > 1 ? try FTPResource.decoded(parts[1]) : nil
    } else {
      user = nil
      password = nil
    }

    var parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    var last = parts.popLast() ?? []
    let type = try FTPResource.type(of: &last)
    var folders: [[UInt8]] = []
    for (index, part) in parts.enumerated() {
      if part.isEmpty {
        if index == 0 { folders.append([UInt8(ascii: "/")]) }
      } else {
        folders.append(try FTPResource.decoded(part))
      }
    }
    let name = try FTPResource.decoded(last)
    if type == .names {
      if !name.isEmpty { folders.append(name) }
      self.name = []
      kind = .names
    } else {
      self.name = name
      kind = name.isEmpty ? .listing : type ?? .image
    }
    self.folders = folders
  }

  /// RFC 1738 §3.2.2. Takes it off the name.
  private static func type(of name: inout ArraySlice<UInt8>) throws(Malformation) -> Kind? {
    let mark = Array(";type=".utf8)
    guard let semicolon = name.lastIndex(of: UInt8(ascii: ";")) else { return nil }
    let parameter = name[semicolon...]
    guard parameter.count >= mark.count, zip(parameter, mark).allSatisfy({ $0.lowercased == $1 }) else { return nil }
    let letters = parameter.dropFirst(mark.count)
    guard letters.count == 1, let letter = letters.first?.lowercased else { throw .unknownType }
    name = name[..<semicolon]
    switch letter {
    case UInt8(ascii: "a"): return .text
    case UInt8(ascii: "i"): return .image
    case UInt8(ascii: "d"): return .names
    default: throw .unknownType
    }
  }

  /// The path of an ftp URL as it names a file: without the type.
  package static func withoutType(_ path: String) -> String {
    var bytes = Array(path.utf8)[...]
    guard (try? type(of: &bytes)) != nil else { return path }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func decoded(_ part: some Collection<UInt8>) throws(Malformation) -> [UInt8] {
    let bytes = percentDecoded(part) ?? []
    guard !bytes.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { throw .lineEnd }
    return bytes
  }
}
