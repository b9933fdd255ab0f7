/// A content coding (RFC 9110 §8.4.1).
package enum ContentCoding: Sendable, Hashable {
  /// `gzip` and its old name `x-gzip`.
  case gzip
  /// The zlib format, in spite of its name; some servers send bare deflate data.
  case deflate
  case identity
  case brotli
  case zstd
  /// A name, in lower case, that is none of the above.
  case unknown(String)

  package init(name: some StringProtocol) {
    switch name.asciiLowercased() {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "identity": self = .identity
    case "br": self = .brotli
    case "zstd": self = .zstd
    case let other: self = .unknown(other)
    }
  }
}

/// The codings of a body, in the order they were applied: the last must be undone first (RFC 9110 §8.4).
package struct ContentCodings: Sendable, Equatable {
  package let applied: [ContentCoding]

  package init(_ applied: [ContentCoding]) { self.applied = applied }

  package init(fields: HTTPFields) {
    self.init(values: fields.values("Content-Encoding"))
  }

  /// - Parameter values: the values of all Content-Encoding fields, in order. Empty list members are ignored
  ///   (RFC 9110 §5.6.1.2).
  package init(values: [String]) {
    applied = values.flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
        let name = String(Substring(member)).trimmingHTTPWhitespace()
        return name.isEmpty ? nil : ContentCoding(name: name)
      }
    }
  }

  /// What has to be undone, first things first. `identity` is nothing to undo.
  package var decodingOrder: [ContentCoding] { applied.reversed().filter { $0 != .identity } }

  /// Whether every coding is one that can be undone here.
  package var areAllKnown: Bool {
    applied.allSatisfy { if case .unknown = $0 { false } else { true } }
  }

  /// Whether the body is the representation itself.
  package var isIdentity: Bool { applied.allSatisfy { $0 == .identity } }
}
