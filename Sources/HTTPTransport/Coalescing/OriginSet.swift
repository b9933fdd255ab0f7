import HTTPSemantics

/// The origins for which a server of HTTP/2 says that a connection may be used (RFC 8336 §2.3).
package struct OriginSet: Sendable, Equatable {
  private var origins: Set<HTTPOrigin>

  /// Origins that a server lists beyond these are left out.
  package static let limit = 1_000

  /// Begins with the origin that the connection was made for.
  package init(_ first: HTTPOrigin) { origins = [first] }

  /// Takes over the entries of an ORIGIN frame. What is no origin of https is left out.
  package mutating func add(_ entries: [String]) {
    for entry in entries where origins.count < OriginSet.limit {
      guard let origin = OriginSet.origin(entry) else { continue }
      origins.insert(origin)
    }
  }

  package func contains(_ origin: HTTPOrigin) -> Bool { origins.contains(origin) }

  /// RFC 6454 §6.2: a scheme, a host and perhaps a port, and nothing else.
  private static func origin(_ text: String) -> HTTPOrigin? {
    let reference = URIReference(text)
    guard reference.path.isEmpty, reference.query == nil, reference.fragment == nil,
      reference.authority?.contains("@") == false, let origin = HTTPOrigin(reference), origin.scheme == "https"
    else { return nil }
    return origin
  }
}
