/// The URLs to which a credential may be sent before the server asks for it. All are of one origin.
package struct AuthenticationScope: Sendable, Hashable {
  package let origin: HTTPOrigin
  /// Each the beginning of paths, dot segments removed.
  private let prefixes: Set<String>

  init(origin: HTTPOrigin, prefixes: Set<String>) {
    self.origin = origin
    self.prefixes = prefixes
  }

  /// - Parameter url: an absolute URL.
  package func contains(_ url: URIReference) -> Bool {
    guard HTTPOrigin(url) == origin else { return false }
    let path = AuthenticationScope.path(of: url).utf8
    return prefixes.contains { path.starts(with: $0.utf8) }
  }

  /// - Parameter requestTarget: path and query of a URL of the same origin, as a request line has them.
  package func contains(requestTarget: String) -> Bool {
    if prefixes.contains("/") { return true }
    let path = AuthenticationScope.path(of: URIReference(requestTarget)).utf8
    return prefixes.contains { path.starts(with: $0.utf8) }
  }

  /// Path and query, without dot segments, also where they are percent-encoded: `/a/%2E%2e/b` is outside of `/a/`.
  static func path(of url: URIReference) -> String {
    var bytes: [UInt8] = []
    var rest = Array(url.path.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.first == UInt8(ascii: "2"), rest.dropFirst().first?.lowercased == 0x65 {
        rest = rest.dropFirst(2)
        bytes.append(UInt8(ascii: "."))
      } else {
        bytes.append(byte)
      }
    }
    let path = URIReference.removingDotSegments(String(decoding: bytes, as: UTF8.self))
    return (path.isEmpty ? "/" : path) + (url.query.map { "?" + $0 } ?? "")
  }
}
