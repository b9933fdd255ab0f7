/// The head of a request exactly as a client sent it.
package struct RequestHead: Sendable {
  package var method: String
  /// The request target as on the wire: `/path?query`, an absolute URL (to a proxy), `host:port` (CONNECT) or `*`.
  package var target: String
  /// `HTTP/1.1`, `HTTP/1.0`.
  package var version: String
  package var fields: HeaderList
  /// Every byte of the head, the empty line that ends it included.
  package var raw: [UInt8]
  /// The connection it came on: 1 for the first that the server accepted.
  package var connection: Int
  /// How many requests came before it on that connection: 0 on a fresh one, more on a reused one.
  package var indexOnConnection: Int
  /// How many requests came to the server before it, over all its connections.
  package internal(set) var arrival = 0
  /// nil without TLS.
  package var tls: TLSFacts?
  /// What an extended CONNECT asks for (RFC 8441 §4); nil for other requests.
  package var connectProtocol: String?

  /// The target up to its query.
  package var path: String { String(target.prefix { $0 != "?" }) }

  /// What follows the first `?` of the target; nil without one.
  package var query: String? {
    target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
  }

  /// The raw head as text, for failure messages and for tests of exact spelling.
  package var rawText: String { String(decoding: raw, as: UTF8.self) }

  /// The value of the field; several are joined with `, ` (RFC 9110 §5.3). nil without one.
  package func value(_ name: String) -> String? {
    let values = fields.values(name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  package func values(_ name: String) -> [String] { fields.values(name) }

  package var expectsContinue: Bool { fields.lists("100-continue", in: "Expect") }

  /// Whether the client asked for the connection to end after this exchange (RFC 9112 §9.3).
  var wantsClose: Bool {
    if fields.lists("close", in: "Connection") { return true }
    return version == "HTTP/1.0" && !fields.lists("keep-alive", in: "Connection")
  }
}
