/// One line of a cookie file in Netscape's format, which curl, wget and others read and write: seven fields with tabs
/// between them.
package struct NetscapeCookie: Sendable, Equatable {
  package var name: String
  package var value: String
  /// Without a leading dot.
  package var domain: String
  /// Whether hosts below the domain get the cookie too.
  package var coversSubdomains: Bool
  package var path: String
  /// Seconds since 1970; nil for a cookie that ends with the session.
  package var expires: Int64?
  package var isSecure: Bool
  package var isHTTPOnly: Bool

  package init(
    name: String, value: String, domain: String, coversSubdomains: Bool, path: String, expires: Int64?,
    isSecure: Bool, isHTTPOnly: Bool
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.coversSubdomains = coversSubdomains
    self.path = path
    self.expires = expires
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
  }

  /// The first line of a file, by which programs know the format.
  package static let header = "# Netscape HTTP Cookie File\n"

  private static let httpOnlyMark = "#HttpOnly_"

  /// The cookies of a file. Lines that are empty, comments or no cookies are left out.
  package static func read(_ text: String) -> [NetscapeCookie] {
    text.utf8.split { $0 == 0x0a || $0 == 0x0d }.compactMap { NetscapeCookie(line: Substring($0)) }
  }

  /// A file of these cookies.
  package static func file(_ cookies: [NetscapeCookie]) -> String {
    cookies.reduce(into: header) { $0 += $1.line + "\n" }
  }

  /// The line of this cookie.
  package var line: String {
    let fields = [
      (isHTTPOnly ? NetscapeCookie.httpOnlyMark : "") + (coversSubdomains ? "." : "") + domain,
      coversSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expires ?? 0), name, value,
    ]
    return fields.joined(separator: "\t")
  }

  /// Reads one line; nil for a comment, and for a line that is no cookie.
  package init?(line: Substring) {
    var rest = line.utf8[...]
    let mark = NetscapeCookie.httpOnlyMark.utf8
    let isHTTPOnly = rest.starts(with: mark)
    if isHTTPOnly { rest = rest.dropFirst(mark.count) } else if rest.first == UInt8(ascii: "#") { return nil }
    var fields = rest.split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
    // A cookie without a value is written without its last field by some programs.
    if fields.count == 6 { fields.append("") }
    guard fields.count == 7, let expires = Int64(fields[4]) else { return nil }
    let isDotted = fields[0].utf8.first == UInt8(ascii: ".")
    let domain = String(Substring(fields[0].utf8.dropFirst(isDotted ? 1 : 0))).asciiLowercased()
    guard !domain.isEmpty, !fields[6].utf8.contains(0x09), !(fields[5].isEmpty && fields[6].isEmpty),
      !rest.contains(where: { $0.isControl && $0 != 0x09 })
    else { return nil }
    self.init(
      name: fields[5], value: fields[6], domain: domain,
      coversSubdomains: asciiCaseInsensitiveEqual(fields[1], "TRUE"), path: fields[2].isEmpty ? "/" : fields[2],
      expires: expires > 0 ? expires : nil, isSecure: asciiCaseInsensitiveEqual(fields[3], "TRUE"),
      isHTTPOnly: isHTTPOnly)
  }
}
