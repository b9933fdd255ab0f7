/// The URLs to which a credential may be sent before the server asks for it. All are of one origin.
package struct AuthenticationScope: Sendable, Hashable {
  package let origin: HTTPOrigin
  /// Each the beginning of paths, dot segments removed: the bytes, in order, none twice.
  private let prefixes: [[UInt8]]
  /// Every path begins so.
  private let containsAll: Bool

  init(origin: HTTPOrigin, prefixes: Set<String>) {
    self.origin = origin
    self.prefixes = prefixes.sorted().map { Array($0.utf8) }
    containsAll = prefixes.contains("/")
  }

  /// - Parameter url: an absolute URL.
  package func contains(_ url: URIReference) -> Bool {
    guard HTTPOrigin(url) == origin else { return false }
    return begins(AuthenticationScope.path(of: url))
  }

  /// - Parameter requestTarget: path and query of a URL of the same origin, as a request line has them.
  package func contains(requestTarget: String) -> Bool {
    if containsAll { return true }
    // Almost every request target stands for itself, and each request asks.
    let contains = requestTarget.utf8.withContiguousStorageIfAvailable { target in
      AuthenticationScope.isPlain(target) ? begins(target) : nil
    }
    if let contains = contains ?? nil { return contains }
    // It has no authority, also where it begins with two slashes.
    let parts = requestTarget.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return begins(AuthenticationScope.path(parts[0], query: parts.count > 1 ? parts[1] : nil))
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

  private func begins(_ path: String) -> Bool {
    var path = path
    return path.withUTF8 { begins($0) }
  }

  private func begins(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
    for prefix in prefixes where path.count >= prefix.count {
      if prefix.withUnsafeBufferPointer({ path[..<$0.count].elementsEqual($0) }) { return true }
    }
    return false
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
