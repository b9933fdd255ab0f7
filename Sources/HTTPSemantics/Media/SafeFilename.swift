/// Makes a file name out of what a server proposes: a name in one directory, never a path (RFC 6266 §4.3).
package enum SafeFilename {
  /// The longest name in UTF-8 bytes that Linux file systems take.
  package static let longest = 255

  /// The last path component, `/` and `\` both separating, without control characters, invisible direction marks,
  /// leading dots, and spaces or dots at the end. nil when nothing is left.
  package static func sanitize(_ proposed: String) -> String? {
    let components = proposed.unicodeScalars.split { $0 == "/" || $0 == "\\" }
    // "a/.." has no last component that names a file, nor is "a" what was meant.
    guard let last = components.last else { return nil }
    var scalars = String.UnicodeScalarView(last.filter { !isForbidden($0) })[...]
    while let first = scalars.first, first == "." || first.properties.isWhitespace { scalars.removeFirst() }
    while let end = scalars.last, end == "." || end.properties.isWhitespace { scalars.removeLast() }
    let name = shortened(String(scalars))
    return name.isEmpty ? nil : name
  }

  /// C0, DEL and C1 controls, line separators, and the marks by which `gpj.exe` is made to look like `exe.jpg`.
  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
    default: false
    }
  }

  /// Cuts the middle, so that the extension stays, at a character's boundary.
  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > longest else { return name }
    var tail = ""
    if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 { tail = String(name[dot...]) }
    var stem = name.dropLast(tail.count)
    while !stem.isEmpty, stem.utf8.count + tail.utf8.count > longest { stem.removeLast() }
    return String(stem) + tail
  }
}
