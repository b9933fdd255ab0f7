/// Names for a file in a folder where others have its name: `report.pdf`, `report (1).pdf`, `report (2).pdf`.
enum NumberedName {
  /// The longest name in UTF-8 bytes that Linux file systems take.
  private static let longest = 255

  /// - Parameter number: 0 for the name itself.
  static func name(_ name: String, number: Int) -> String {
    let addition = number == 0 ? "" : " (\(number))"
    var (stem, tail) = split(name)
    while stem.count > 1, stem.utf8.count + addition.utf8.count + tail.utf8.count > longest { stem.removeLast() }
    return stem + addition + tail
  }

  /// A file name that can be nothing but a name in the folder it is put in.
  static func safe(_ proposed: String?) -> String {
    let name = proposed?.split(separator: "/").last.map(String.init) ?? ""
    return name.isEmpty || name.hasPrefix(".") || name.utf8.contains(0) ? "download" : name
  }

  /// Before and from the extension on; that of `archive.tar.gz` has two parts.
  private static func split(_ name: String) -> (stem: String, tail: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32 else {
      return (name, "")
    }
    let stem = name[..<dot]
    if stem.hasSuffix(".tar"), stem.count > 4 { return (String(stem.dropLast(4)), ".tar" + name[dot...]) }
    return (String(stem), String(name[dot...]))
  }
}
