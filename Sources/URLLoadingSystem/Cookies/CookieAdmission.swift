import HTTPSemantics

/// Which cookies a response may set (RFC 6265bis §5.7), by the request that it answers.
struct CookieAdmission {
  private let request: CookieRequest
  private let suffixes: (any PublicSuffixes)?
  private let isSameSite: Bool
  var isSecure: Bool { request.place.isSecure }

  init(_ request: CookieRequest, suffixes: (any PublicSuffixes)?) {
    self.request = request
    self.suffixes = suffixes
    isSameSite = request.isSameSite(suffixes)
  }

  /// The cookie as it is to be stored; nil for none. Whether it would hide a secure one is for the store to see.
  func admit(_ cookie: HTTPCookie) -> HTTPCookie? {
    var contents = cookie.contents
    // Step 13: only a secure place sets secure cookies.
    guard isSecure || !contents.isSecure else { return nil }
    // Step 19.
    guard
      isSameSite || CookieRules.isStoredCrossSite(contents.sameSite, isNavigation: request.isNavigation)
    else { return nil }
    // Steps 8 to 10.
    let domain = contents.domain.lowercased()
    let isHost = domain.utf8.first != UInt8(ascii: ".")
    let attribute = isHost ? nil : String(Substring(domain.utf8.dropFirst()))
    switch CookieRules.scope(domain: attribute, host: request.place.host, suffixes: suffixes) {
    case .refused: return nil
    case .domain: break
    case .host where isHost: guard domain == request.place.host else { return nil }
    case .host: contents.domain = request.place.host
    }
    contents.partition = contents.isPartitioned ? request.ownPartition(suffixes) : request.partition
    return contents == cookie.contents ? cookie : HTTPCookie(contents)
  }
}
