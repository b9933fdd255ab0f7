/// Makes a file name out of what a server proposes: a name in one directory, never a path (RFC 6266 §4.3).
package enum SafeFilename {
  /// The longest name in UTF-8 bytes that Linux file systems take.
  package static let longest = 255

  /// The name with `_` for `/` and `\`, without control characters, invisible direction marks, leading dots, and spaces
  /// or dots at the end. nil when nothing is left but underscores.
  package static func sanitize(_ proposed: String) -> String? {
    let flat = proposed.unicodeScalars.lazy.filter { !isForbidden($0) }.map { $0 == "/" || $0 == "\\" ? "_" : $0 }
    guard flat.contains(where: { $0 != "_" && $0 != "." }) else { return nil }
    var scalars = String.UnicodeScalarView(flat)[...]
    while let first = scalars.first, first == "." || first.properties.isWhitespace { scalars.removeFirst() }
    let name = shortened(trimmed(scalars))
    return name.isEmpty ? nil : name
  }

  /// C0, DEL and C1 controls, line separators, and the marks by which `gpj.exe` is made to look like `exe.jpg`.
  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
    default: false
    }
  }

  /// Without the spaces and dots at the end.
  private static func trimmed(_ scalars: Substring.UnicodeScalarView) -> String {
    var scalars = scalars
    while let end = scalars.last, end == "." || end.properties.isWhitespace { scalars.removeLast() }
    return String(scalars)
  }

  /// Cuts the middle, so that the extension stays, at a character's boundary.
  ///
  /// Characters are counted from the front: finding them from the end of a long run of flags, or of anything else that
  /// pairs up, means going through the whole run for each.
  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > longest else { return name }
    var tail = ""
    if let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), name.utf8[dot...].count <= 32 {
      tail = String(name[dot...])
    }
    let room = longest - tail.utf8.count
    var stem = ""
    for character in name {
      guard stem.utf8.count + character.utf8.count <= room else { break }
      stem.append(character)
    }
    if stem.isEmpty {
      // One character of hundreds of marks.
      for scalar in name.unicodeScalars {
        guard stem.utf8.count + scalar.utf8.count <= room else { break }
        stem.unicodeScalars.append(scalar)
      }
    }
    return trimmed(Substring(stem).unicodeScalars) + tail
  }
}
