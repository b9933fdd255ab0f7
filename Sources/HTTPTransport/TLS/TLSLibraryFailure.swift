/// A TLS handshake that failed for a reason that the TLS library or the socket gave, and not for the certificate.
package struct TLSLibraryFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of the reason, as far as it is known.
  package enum Kind: Sendable, Equatable {
    /// The connection ended in the middle of the handshake.
    case connectionEnded
    /// The other end spoke no TLS.
    case notTLS
    case noCommonVersion
    /// No cipher suite, group or signature scheme suits both ends, or the server does not say more.
    case noCommonParameters
    /// The server has nothing for this host name.
    case unknownName
    /// The server did not answer in time.
    case timedOut
    case unknown
  }

  package let kind: Kind
  /// The library's own words.
  package let text: String

  package init(_ kind: Kind, text: String) {
    self.kind = kind
    self.text = text
  }

  package var description: String { text }

  /// The first of these that the library's words contain decides.
  private static let kinds: [(words: String, kind: Kind)] = [
    ("EOF during handshake", .connectionEnded), ("uncleanShutdown", .connectionEnded),
    ("wrong version number", .notTLS), ("http request", .notTLS), ("unexpected message", .notTLS),
    ("unexpected record", .notTLS), ("unsupported protocol", .noCommonVersion),
    ("protocol version", .noCommonVersion), ("wrong ssl version", .noCommonVersion),
    ("unknown protocol", .noCommonVersion), ("unrecognized name", .unknownName),
    ("handshake failure", .noCommonParameters), ("no shared cipher", .noCommonParameters),
    ("insufficient security", .noCommonParameters), ("wrong curve", .noCommonParameters),
    ("no common signature algorithms", .noCommonParameters), ("no application protocol", .noCommonParameters),
  ]

  /// Sorts an error of the TLS library by its words: it has no codes for them.
  init(_ error: any Error) {
    let text = TLSFailureText.reason(of: error)
    self.init(TLSLibraryFailure.kinds.first { text.contains($0.words) }?.kind ?? .unknown, text: text)
  }
}
