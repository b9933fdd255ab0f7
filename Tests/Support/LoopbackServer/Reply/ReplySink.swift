import NIOCore

/// Where a reply goes: one request of one version of HTTP. The script of a reply (``ReplyRunner``) knows no framing;
/// a sink knows nothing else.
protocol ReplySink: AnyObject {
  func informational(_ status: Int, fields: HeaderList) async throws
  func head(_ status: Int, reason: String?, fields: HeaderList) async throws
  func raw(_ bytes: ByteBuffer) async throws
  func body(_ bytes: ByteBuffer) async throws
  func chunk(_ bytes: ByteBuffer) async throws
  /// The end of a chunked body.
  func trailers(_ fields: HeaderList) async throws
  /// Reads the request body until `limit` bytes of it have come, or all.
  func readRequestBody(upTo limit: Int64?) async throws
  /// Ends the connection; the reply has no further steps.
  func end(_ ending: ReplyEnding) async throws
  func handOver(to script: @Sendable (ServerConnection) async throws -> Void) async throws
}

/// The reason phrases of RFC 9110 §15 that tests meet; others have none.
func reasonPhrase(_ status: Int) -> String {
  phrases[status] ?? ""
}

private let phrases: [Int: String] = [
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
  200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
  205: "Reset Content", 206: "Partial Content",
  300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
  307: "Temporary Redirect", 308: "Permanent Redirect",
  400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
  407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
  411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 416: "Range Not Satisfiable",
  417: "Expectation Failed", 421: "Misdirected Request", 425: "Too Early", 429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
  504: "Gateway Timeout", 505: "HTTP Version Not Supported",
]
