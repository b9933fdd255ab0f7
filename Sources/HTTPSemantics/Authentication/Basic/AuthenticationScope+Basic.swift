extension AuthenticationScope {
  /// The scope of a Basic challenge (RFC 7617 §2.2): every path that begins like the challenged one up to its last
  /// slash.
  ///
  /// - Parameter url: the absolute URL of the request that was challenged.
  /// - Returns: nil unless the URL is of http or https.
  package init?(basicChallengeAt url: URIReference) {
    guard let origin = HTTPOrigin(url) else { return nil }
    var url = url
    url.query = nil
    let path = AuthenticationScope.path(of: url)
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.utf8.startIndex
    self.init(origin: origin, prefixes: [String(path[..<end]) + "/"])
  }
}
