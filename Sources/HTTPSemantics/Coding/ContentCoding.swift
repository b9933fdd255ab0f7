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
