/// The name under which a response is saved when the app chose none.
package enum SuggestedFilename {
  /// The name from Content-Disposition, else the URL's last path component, else its host, else `unknown`. A name
  /// without an extension gets that of the media type, if it is well known.
  /// - Parameters:
  ///   - contentDisposition: the field's value.
  ///   - path: the URL's path, percent-encoded.
  ///   - host: the URL's host.
  ///   - mediaType: `type/subtype`; parameters are ignored.
  package static func choose(
    contentDisposition: String?, path: String, host: String?, mediaType: String?
  ) -> String {
    let known = mediaType.flatMap { MediaType(parsing: $0) }.flatMap { FilenameExtension.preferred[$0.essence] }
    if let name = contentDisposition.flatMap({ ContentDisposition(parsing: $0).filename }) ?? lastComponent(of: path) {
      guard let known, !hasExtension(name) else { return name }
      return SafeFilename.sanitize(name + "." + known) ?? name
    }
    let name = host.flatMap(SafeFilename.sanitize) ?? "unknown"
    // The label behind the last dot of a host is not an extension.
    return known.flatMap { SafeFilename.sanitize(name + "." + $0) } ?? name
  }

  private static func lastComponent(of path: String) -> String? {
    guard let encoded = path.utf8.split(separator: UInt8(ascii: "/")).last else { return nil }
    let decoded = percentDecoded(encoded).flatMap { String(validating: $0, as: UTF8.self) }
    return SafeFilename.sanitize(decoded ?? String(Substring(encoded)))
  }

  /// Whether the name ends in a dot and up to ten letters and digits, not digits alone: `notes-1.2` has none.
  private static func hasExtension(_ name: String) -> Bool {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return false }
    let suffix = name.utf8[dot...].dropFirst()
    return (1...10).contains(suffix.count) && suffix.allSatisfy { $0.isLetter || $0.isDigit }
      && suffix.contains(where: \.isLetter)
  }
}
