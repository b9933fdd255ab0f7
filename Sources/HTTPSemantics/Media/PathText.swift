/// Names of files as text.
package enum PathText {
  /// The text behind the last dot of a name's last component; nil where there is none, and for hidden files without one.
  static func pathExtension(of name: String) -> String? {
    let component = name.split(separator: "/").last ?? ""
    guard let dot = component.lastIndex(of: "."), dot != component.startIndex else { return nil }
    let ending = component[component.index(after: dot)...]
    return ending.isEmpty ? nil : String(ending)
  }

  /// `path` with a number behind the name and before its extension: `a/b.txt` and 2 give `a/b-2.txt`.
  package static func numbered(_ path: String, _ number: Int) -> String {
    guard let ending = pathExtension(of: path) else { return "\(path)-\(number)" }
    return "\(path.dropLast(ending.count + 1))-\(number).\(ending)"
  }
}
