/// The URLs to which a credential may be sent before the server asks for it. All are of one origin.
package struct AuthenticationScope: Sendable, Hashable {
  package let origin: HTTPOrigin
  /// Each the beginning of paths, dot segments removed.
  private let prefixes: Set<String>
  /// Every path begins so.
  private let containsAll: Bool

  init(origin: HTTPOrigin, prefixes: Set<String>) {
    self.origin = origin
    self.prefixes = prefixes
    containsAll = prefixes.contains("/")
  }

  /// - Parameter url: an absolute URL.
  package func contains(_ url: URIReference) -> Bool {
    guard HTTPOrigin(url) == origin else { return false }
    let path = AuthenticationScope.path(of: url).utf8
    return prefixes.contains { path.starts(with: $0.utf8) }
  }

  /// - Parameter requestTarget: path and query of a URL of the same origin, as a request line has them.
  package func contains(requestTarget: String) -> Bool {
    if containsAll { return true }
    // Almost every request target stands for itself, and each request asks.
    let contains = requestTarget.utf8.withContiguousStorageIfAvailable { target in
      AuthenticationScope.isPlain(target) ? prefixes.contains { AuthenticationScope.begins(target, with: $0) } : nil
    }
    if let contains = contains ?? nil { return contains }
    // It has no authority, also where it begins with two slashes.
    let parts = requestTarget.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = AuthenticationScope.path(parts[0], query: parts.count > 1 ? parts[1] : nil).utf8
    return prefixes.contains { path.starts(with: $0.utf8) }
  }

  /// Whether a request target is what `path(_:query:)` makes of it: no dot begins a segment, and none is percent-encoded.
  private static func isPlain(_ requestTarget: UnsafeBufferPointer<UInt8>) -> Bool {
    guard var previous = requestTarget.first, previous == UInt8(ascii: "/") else { return false }
    for byte in requestTarget.dropFirst() {
      if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "#") { return false }
      if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
      previous = byte
    }
    return true
  }

  private static func begins(_ target: UnsafeBufferPointer<UInt8>, with prefix: String) -> Bool {
    target.count >= prefix.utf8.count && target.starts(with: prefix.utf8)
  }

  /// Path and query, without dot segments, also where they are percent-encoded: `/a/%2E%2e/b` is outside of `/a/`.
  static func path(of url: URIReference) -> String { path(url.path[...], query: url.query.map { $0[...] }) }

  private static func path(_ path: Substring, query: Substring?) -> String {
    var bytes: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.first == UInt8(ascii: "2"), rest.dropFirst().first?.lowercased == 0x65 {
        rest = rest.dropFirst(2)
        bytes.append(UInt8(ascii: "."))
      } else {
        bytes.append(byte)
      }
    }
    let path = URIReference.removingDotSegments(String(decoding: bytes, as: UTF8.self))
    return (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "")
  }
}
